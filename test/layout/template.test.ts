import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { parseTemplate } from '../../src/layout/index.ts';

function reasonAgainst(text: string): string | null {
  const parsed = parseTemplate(text);
  return parsed.ok ? null : parsed.problem;
}

t.test('a template is a fixed part, and segments that stand for names', async t => {
  t.same(parseTemplate('/srv/git/{owner}/group-{repo}.git/lfs'), {
    ok: true,
    value: {
      text: '/srv/git/{owner}/group-{repo}.git/lfs',
      fixed: '/srv/git',
      segments: [
        { is: 'owner', before: '', after: '' },
        { is: 'repo', before: 'group-', after: '.git' },
        { is: 'literal', text: 'lfs' },
      ],
      literalCharacters: '/srv/git//group-.git/lfs'.length,
      hasOwner: true,
    },
  });
});

t.test('the fixed part ends before the first segment with a placeholder in it', async t => {
  const cases = {
    '/srv/of-{owner}': '/srv',
    '/srv/*/x': '/srv',
    '/{owner}': '/',
    '/srv/data': '/srv/data',
  };
  for (const [text, fixed] of Object.entries(cases)) {
    t.match(parseTemplate(text), { ok: true, value: { fixed } }, text);
  }
});

t.test('doubled slashes and one at the end mean nothing', async t => {
  t.same(parseTemplate('//srv///git/{owner}//'), parseTemplate('/srv/git/{owner}'));
});

t.test('what is no template is refused with what is wrong', async t => {
  const cases: Readonly<Record<string, RegExp>> = {
    'srv/git': /absolute path/,
    '': /absolute path/,
    '/': /below \//,
    '/srv/../etc/{owner}': /segment \.\./,
    '/srv/./{owner}': /segment \. /,
    '/srv/{user}/x': /unknown \{user\}; known are \{owner\} and \{repo\}/,
    '/srv/{}/x': /unknown \{\}/,
    '/srv/{owner}{repo}': /one of \{owner\} and \{repo\}/,
    '/srv/{owner}/{owner}': /\{owner\} is used twice/,
    '/srv/{repo}/a/{repo}': /\{repo\} is used twice/,
    '/srv/{repo}/{owner}': /only literal segments/,
    '/srv/{repo}/*': /only literal segments/,
    '/srv/{owner}/*.git': /\* stands for a whole segment/,
    '/srv/{owner}*': /\* stands for a whole segment/,
    '/srv/{owner': /brace without a matching brace/,
    '/srv/owner}': /brace without a matching brace/,
    '/srv/{{owner}}': /brace without a matching brace/,
    '/srv/\0': /NUL/,
  };
  for (const [text, reason] of Object.entries(cases))
    t.match(reasonAgainst(text), reason, JSON.stringify(text));
});

t.test('any text is a template or is refused, and a template survives being handed to a thread', async () => {
  const piece = fc.constantFrom('/', '{owner}', '{repo}', '*', 'a', '.git', '..', '{', '}', 'é', '\0');
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), pieces => {
      const parsed = parseTemplate(`/${pieces.join('')}`);
      if (!parsed.ok) return parsed.problem !== '';
      assert.deepEqual(structuredClone(parsed.value), parsed.value);
      const again = parseTemplate(parsed.value.text);
      return again.ok && again.value.text === parsed.value.text;
    }),
  );
});
