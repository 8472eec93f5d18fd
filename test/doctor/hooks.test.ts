/** The hooks of repositories as doctor sees them: in place, of this version, and asking the right daemon. */

import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { checkHooks } from '../../src/doctor/hooks.ts';
import { Report } from '../../src/doctor/installation.ts';
import { lookForRepositories } from '../../src/doctor/repositories.ts';
import { hooksStatus, installGlobally, installHooks } from '../../src/git/index.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { git, installationIn, reportOf } from './folder.ts';

interface World {
  readonly paths: readonly string[];
  readonly socket: string;
  /** Installs the hooks once more, with another socket where one is given. */
  readonly install: (socket?: string) => Promise<unknown>;
  readonly look: () => Promise<Report>;
  /** The hooks that git runs in repositories that are protected. */
  readonly run: () => Promise<Awaited<ReturnType<typeof checkHooks>>>;
}

/** Repositories with the hooks. */
async function world(t: Test, names: readonly string[] = ['a', 'b', 'c']): Promise<World> {
  const folder = temporaryFolder(t);
  const socket = join(folder, 'gate.sock');
  const paths = names.map(name => join(folder, `git/alice/${name}.git`));
  mkdirSync(join(folder, 'git/alice'), { recursive: true });
  for (const path of paths) git('init', '-q', '--bare', path);
  const text = `[server]\nSOCKET = ${socket}\n[storage.repos]\nPATH = ${folder}/git/{owner}/{repo}.git\n`;
  const installation = installationIn(folder, text);
  const install = (at = socket) => installHooks(paths, { socket: at, client: 'curl' });
  await install();
  const found = lookForRepositories(installation.loaded.config);
  const check = async (report: Report) => checkHooks(report, installation, found, await hooksStatus(paths));
  const look = () => reportOf(check);
  return { paths, socket, install, look, run: () => check(new Report()) };
}

t.test('of repositories that are well it says by which program their hooks ask', async t => {
  const { look } = await world(t);
  t.match(await look(), { findings: [], checked: ['the hooks of 3 repositories; they ask by curl'] });
});

t.test('a hook that asks at another socket is found, and installing mends it', async t => {
  const { paths, install, look } = await world(t, ['a']);
  await install('/run/old.sock');
  const [path = ''] = paths;
  t.match((await look()).findings, [
    { code: 'hook', message: /asks at \/run\/old\.sock/, mend: `softquota hooks install ${path}` },
  ]);
  await install();
  t.strictSame((await look()).findings, []);
});

t.test('faults of one kind are one finding that names the repositories', async t => {
  const { paths, look, run } = await world(t);
  for (const path of paths) rmSync(join(path, 'hooks/pre-receive'));
  const { findings } = await look();
  t.match(findings, [{ code: 'hook', message: /there is no pre-receive hook \(and 2 more\)$/ }]);
  t.equal(findings[0]?.mend, `softquota hooks install ${paths.join(' ')}`);
  t.strictSame(await run(), [], 'nothing of theirs is asked about any further');
});

t.test('different faults are told apart, those of most repositories first', async t => {
  const { paths, look } = await world(t);
  const [a = '', b = '', c = ''] = paths;
  rmSync(join(a, 'hooks/pre-receive'));
  for (const path of [b, c]) appendFileSync(join(path, 'hooks/pre-receive'), '# older\n');
  t.match((await look()).findings, [
    {
      code: 'hook',
      message: `${b}: hooks/pre-receive is of another version (and 1 more)`,
      mend: `${b} ${c}`,
    },
    { code: 'hook', message: `${a}: there is no pre-receive hook`, mend: `softquota hooks install ${a}` },
  ]);
});

t.test('a link that leads nowhere goes first, and one of release 0.1 is replaced', async t => {
  const { paths, install, look } = await world(t, ['a']);
  const hook = `${paths[0]}/hooks/pre-receive`;
  rmSync(hook);
  symlinkSync('/opt/softquota-1.0/hooks/pre-receive', hook);
  t.match((await look()).findings, [
    {
      code: 'hook',
      message: /hooks\/pre-receive is a link that leads nowhere$/,
      mend: `rm ${hook} && softquota hooks install ${paths[0]}`,
    },
  ]);
  rmSync(hook);
  symlinkSync(fileURLToPath(new URL('../../hooks/pre-receive', import.meta.url)), hook);
  t.match((await look()).findings, [
    { message: /pre-receive is of another version$/, mend: `softquota hooks install ${paths[0]}` },
  ]);
  await install();
  t.strictSame((await look()).findings, []);
});

t.test('a file system with noexec is named with its mend, also below core.hooksPath', async t => {
  const { paths, install, look } = await world(t, ['a']);
  const [path = ''] = paths;
  const hooks = join(path, 'hooks');
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'noexec', 'none', hooks]);
  t.teardown(() => execFileSync('umount', ['-l', hooks]));
  await install();
  const mend = `mount -o remount,exec ${hooks}  # and remove noexec there in /etc/fstab`;
  t.match((await look()).findings, [{ code: 'hook_blocked', message: /hooks\/pre-receive: .*noexec/, mend }]);
  const site = join(hooks, 'site');
  await installGlobally(site, 'git', { socket: '/run/gate.sock', client: 'curl' });
  git('-C', path, 'config', 'core.hooksPath', site);
  t.match((await look()).findings, [{ code: 'hook_blocked', message: /core\.hooksPath.*noexec/, mend }]);
});

t.test('a hook that was changed by hand is of another version', async t => {
  const { paths, install, look } = await world(t, ['a']);
  appendFileSync(join(`${paths[0]}`, 'hooks/post-receive'), '# older\n');
  t.match((await look()).findings, [{ code: 'hook', message: /hooks\/post-receive is of another version$/ }]);
  await install();
  t.strictSame((await look()).findings, []);
});
