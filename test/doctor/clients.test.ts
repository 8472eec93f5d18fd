/** The programs by which hooks ask: told, and tried again. */

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import t from 'tap';
import { checkClients } from '../../src/doctor/clients.ts';
import { hooksStatus } from '../../src/git/index.ts';
import { folderFor, git, repositoryAt, write } from './folder.ts';

const gone = async (client: string) => `${client} is gone`;
const there = async () => null;

t.test('a program that is gone is named with the repositories that ask by it', async t => {
  const folder = folderFor(t);
  const paths = ['a.git', 'b.git', 'c.git'].map(name => repositoryAt(join(folder, name)));
  const [a = '', b = ''] = paths;
  for (const path of paths) write(join(path, 'config'), '[core]\n\tbare = true\n');
  git('config', '--file', join(a, 'config'), 'softquota.client', 'socat');
  git('config', '--file', join(b, 'config'), 'softquota.client', 'wget');
  const close = paths.map(path => ({ path, user: { uid: 0, gid: 0 } }));
  const context = { uid: 0, configOption: null, hookConf: '/nowhere' };
  const look = async (fault: typeof gone | typeof there, well: readonly string[] = paths) => {
    const { repositories, hookConf } = await hooksStatus(paths, { hookConf: '/nowhere' });
    return checkClients(context, hookConf, close, repositories, new Set(well), fault);
  };
  t.strictSame(await look(there), { findings: [], checked: ['the hooks ask by curl and socat'] });
  t.strictSame((await look(gone, [])).findings, [], 'only hooks that ask at all count');
  const { findings } = await look(gone);
  t.match(findings, [
    { code: 'hook_client', severity: 'notice', message: /set to ask by socat.*: socat is gone$/ },
  ]);
  t.equal(findings[0]?.mend, `softquota hooks install ${a}`);
});

t.test('hook.conf says it for all, and is mended itself', async t => {
  const folder = folderFor(t);
  const path = repositoryAt(join(folder, 'a.git'));
  write(join(path, 'config'), '[core]\n\tbare = true\n');
  const conf = write(join(folder, 'hook.conf'), 'socket=/s\n client = nc\n#client=x\n');
  const context = { uid: 0, configOption: null, hookConf: conf };
  const look = async () => {
    const { repositories, hookConf } = await hooksStatus([path], { hookConf: conf });
    t.equal(hookConf?.believed, true);
    return checkClients(
      context,
      hookConf,
      [{ path, user: { uid: 0, gid: 0 } }],
      repositories,
      new Set([path]),
      gone,
    );
  };
  const { findings } = await look();
  t.match(findings, [{ code: 'hook_client' }]);
  t.match(findings[0]?.mend, /^sed -i \S+ \S+\/hook\.conf$/);

  execFileSync('sh', ['-c', findings[0]?.mend ?? 'false']);
  t.strictSame(await look(), { findings: [], checked: ['the hooks ask by curl'] });
});
