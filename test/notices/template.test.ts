/** Templates of mails: values, lists, and mistakes that are told with their line. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { readMailTemplates } from '../../src/notices/mail.ts';
import { directoryFor } from '../ledger/world.ts';

type View = Parameters<ReturnType<typeof readMailTemplates>['render']>[1];

/** Reads a template of an administrator, as that of text and that of HTML. */
function read(t: Test, template: string) {
  const directory = join(directoryFor(t), 'mail');
  mkdirSync(directory);
  writeFileSync(join(directory, 'owner.txt'), `Subject: Quota\n\n${template}`);
  writeFileSync(join(directory, 'owner.html'), template);
  const faults: string[] = [];
  const templates = readMailTemplates(directory, { error: (_, message = '') => faults.push(message) });
  return { faults, render: (view: View) => templates.render('owner', view) };
}

t.test('values and lists stand where their names do', async t => {
  const view = {
    owner: 'alice',
    kinds: [
      { name: 'a', size: '1' },
      { name: 'b', size: '2' },
    ],
  };
  const rendered = (template: string, values: View) => read(t, template).render(values).text;
  t.equal(
    rendered('{{owner}}:{{#kinds}} {{name}}={{size}}({{ owner }}){{/kinds}}.', view),
    'alice: a=1(alice) b=2(alice).',
  );
  t.equal(rendered('a\n{{#kinds}}\n- {{name}}\n{{/kinds}}\nb', view), 'a\n- a\n- b\nb');
  t.equal(
    rendered('{{^kinds}}none{{/kinds}}{{#owner}}is {{owner}}{{/owner}}', { owner: '', kinds: [] }),
    'none',
  );
  t.equal(rendered('{{name}}{{size}}', {}), '');
});

t.test('a value stays a value, whatever is in it', async t => {
  const rendered = (template: string, values: View) => read(t, template).render(values);
  t.equal(rendered('{{owner}}', { owner: '{{name}}', name: 'x' }).text, '{{name}}');
  t.equal(rendered('<b>{{owner}}</b>', { owner: `<&"'>` }).html, '<b>&lt;&amp;&quot;&#39;&gt;</b>');
});

t.test('a mistake is told with its line in the file', async t => {
  for (const [template, line, words] of [
    ['a\n{{ownr}}', 2, 'there is no value ownr; known are message, '],
    ['{{#kinds}}', 1, '{{#kinds}} has no end'],
    ['\n\n{{/kinds}}', 3, '{{/kinds}} ends nothing that is open'],
    ['{{#kinds}}{{#owner}}{{/kinds}}', 1, '{{/kinds}} ends nothing that is open'],
    ['a {{owner', 1, '{{ is not closed'],
  ] as const) {
    const { faults } = read(t, template);
    t.match(faults, [`: line ${line + 2}: ${words}`, `: line ${line}: ${words}`]);
    t.equal(faults.length, 2);
  }
  t.match(read(t, 'x'.repeat(300_000)).faults, [/: longer than 262144 characters$/]);
  const kinds = Array.from({ length: 2000 }, () => ({ name: 'x'.repeat(1000) }));
  t.throws(() => read(t, '{{#kinds}}{{name}}{{/kinds}}').render({ kinds }), {
    message: /more than 1000000 characters/,
  });
});
