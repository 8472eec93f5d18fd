/** Every command of the manual's short pages, typed on a server that docs/install.md has made. */

import t from 'tap';
import { readGuide, Site } from './guide.ts';
import { packed } from './package.ts';

t.setTimeout(600_000);

/** Output that is to be seen once a heading's commands were typed. */
const shows: Readonly<Record<string, RegExp>> = {
  Usage: /^alice +[\d.]+ k?B +10 GB/m,
  'Why an owner is refused or allowed': /\* [\d.]+ k?B of 10 GB \(size:all\): allows/,
  'Rules and groups': /Rule ten is now: at most 20 GB of size:all\./,
  'The policy as a file': /No problems found\.[\s\S]*already in force/,
  Users: /alice +owner/,
  'The installation': /^1 repository, all with working hooks\.$/m,
  Troubleshooting: /^No problems found\.$/m,
  Upgrade: /^No problems found\.$/m,
  'Users see their usage over ssh': /^$/,
};

const site = await Site.open(t, await packed(t));
await site.protect(await readGuide(), 'ssh');

t.test('every command of the short pages does what the page says', async t => {
  const overSsh = (await readGuide('hooks.md')).filter(
    ({ kind, heading }) => kind === 'sh' && heading === 'Users see their usage over ssh',
  );
  const pages = ['quick-reference.md', 'troubleshooting.md', 'security.md', 'upgrade.md'];
  const blocks = [...overSsh, ...(await Promise.all(pages.map(page => readGuide(page)))).flat()];
  t.equal(
    blocks.filter(({ kind }) => kind === 'sh').length,
    blocks.length,
    'there are commands, and nothing else',
  );
  for (const block of blocks) {
    const { code, stdout, stderr } = await site.type(block);
    t.equal(code, 0, block.heading, { stdout, stderr, text: block.text });
    t.match(stdout, shows[block.heading] ?? /^/, block.heading);
  }
  const ask = { kind: 'sh alice', heading: '', text: 'ssh git@git.example quota alice' };
  t.match(await site.type(ask), { code: 0, stdout: /^alice uses [\d.]+ k?B of 22 GB/ });
});

t.test('nginx may ask once its user is in the group, and the job of cron finds softquota', async t => {
  const line = async (page: string, words: string) => {
    const block = (await readGuide(page)).find(({ text }) => text.includes(words));
    return { kind: 'sh', heading: page, text: block?.text ?? '' };
  };
  const check = await line('uploads.md', 'runuser -u www-data');
  const isCut = await site.sandbox.run('sh', ['-c', check.text]);
  t.match(isCut, { code: 7 }, 'curl says that it cannot connect');
  await site.sandbox.must('usermod', ['--append', '--groups', 'softquota', 'www-data']);
  t.match(await site.type(check), { code: 0, stdout: /^\{"status":"ok"/ });

  const [, path = '', command = ''] =
    /^PATH=(.+)\n(?:\S+ ){5}root (.+)$/m.exec((await line('backup.md', '* * root softquota backup')).text) ??
    [];
  const job = ['-i', `PATH=${path}`, 'HOME=/root', 'SHELL=/bin/sh', '/bin/sh', '-c', command];
  t.match(await site.sandbox.run('env', job), { code: 0, stderr: /^Saved \d+ owners?,/ });
});
