import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import fc from 'fast-check';
import t from 'tap';
import { configValue } from '../../src/layout/gitconfig.ts';
import { isLong } from '../run-length.ts';
import { emptyDirectory } from './world.ts';

/** Value that git itself reads. */
function gitsValue(file: string, key: string): ReturnType<typeof configValue>['found'] | { value: string } {
  const { status, stdout } = spawnSync('git', ['config', '--file', file, '--no-includes', '-z', '--list'], {
    encoding: 'utf8',
  });
  if (status !== 0) return 'fault';
  let result: ReturnType<typeof gitsValue> = 'nothing';
  for (const entry of stdout.split('\0')) {
    const [name, ...value] = entry.split('\n');
    if (name === key) result = value.length === 0 ? 'no value' : { value: value.join('\n') };
  }
  return result;
}

function ours(text: string, key: string): ReturnType<typeof gitsValue> {
  const value = configValue(text, key);
  return value.found === 'value' ? { value: value.value } : value.found;
}

t.test('a value reads as git reads it', async t => {
  const cases: Readonly<Record<string, string>> = {
    '[quota]\n\towner = alice\n': 'alice',
    '[QUOTA] Owner=alice': 'alice',
    '[quota]\nowner = "a # b" ; comment': 'a # b',
    '[quota]\nowner = a\\\n  b': 'a  b',
    '[quota]\nowner = a\\"b\\\\c': 'a"b\\c',
    '[quota]\nowner = alice\n[other]\nowner = bob\n[quota]\nowner = carol': 'carol',
    '\ufeff[quota]\r\nowner = alice\r\n': 'alice',
    '[quota]\nowner =\n': '',
    '# [quota]\n[quota] ; owner = x\nowner=y': 'y',
  };
  for (const [text, value] of Object.entries(cases)) {
    t.same(configValue(text, 'quota.owner'), { found: 'value', value }, JSON.stringify(text));
  }
});

t.test('names of sections and variables have no case, those of subsections have', async t => {
  const text = '[Quota "Of.Team"]\nOWNER = alice\n[quota.old]\nowner = bob';
  t.same(configValue(text, 'QUOTA.Of.Team.owner'), { found: 'value', value: 'alice' });
  t.same(configValue(text, 'quota.of.team.owner'), { found: 'nothing' });
  t.same(configValue(text, 'quota.old.owner'), { found: 'value', value: 'bob' });
});

t.test('a key without a value, and a file that git would not read, are told apart', async t => {
  t.same(configValue('[quota]\nowner\n', 'quota.owner'), { found: 'no value' });
  t.same(configValue('[quota]\nowner = a\n\nowner = "b\n', 'quota.owner'), { found: 'fault', line: 4 });
  t.same(configValue('[quota\n', 'quota.owner'), { found: 'fault', line: 1 });
});

t.test('includes are not followed', async t => {
  const directory = emptyDirectory(t);
  writeFileSync(`${directory}/other`, '[quota]\nowner = mallory\n');
  t.same(configValue(`[include]\npath = ${directory}/other\n`, 'quota.owner'), { found: 'nothing' });
});

t.test('whatever stands in the file, the answer is the one of git', async t => {
  const file = `${emptyDirectory(t)}/config`;
  // No tab between words: git has kept it as it is only since 2.45; before, it was a space.
  const piece = fc.constantFrom(
    ...[
      '[a]\n',
      '[A "b"]',
      '[a.B]\n',
      '[a "B"]\n',
      '[',
      ']',
      '[]',
      '"',
      '\\',
      '\\\n',
      '\\"',
      '\\n',
      '\\x',
      '#',
      ';',
    ],
    ...[
      ' ',
      '\n',
      '\r\n',
      ' \t\n=',
      '=',
      ' = ',
      'k',
      'k = ',
      '\nk = v',
      'K',
      '\nk=',
      'v',
      'é',
      '-',
      '1',
      '.',
    ],
  );
  const text = fc.array(piece, { maxLength: 14 }).map(pieces => `[a]${pieces.join('')}`);
  fc.assert(
    fc.property(text, fc.constantFrom('a.k', 'a.b.k', 'a.B.k'), (text, key) => {
      writeFileSync(file, text);
      assert.deepEqual(ours(text, key), gitsValue(file, key));
    }),
    { numRuns: isLong ? 5000 : 200, examples: [['[a]k = v \\', 'a.k']] },
  );
});
