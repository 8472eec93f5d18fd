/**
 * The commands of docs/install.md for a forge, typed as they stand on a host on which a real Gitea runs.
 * Only the long run builds it.
 */

import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { builtForge } from '../forge/real-forge.ts';
import { giteaHeading, linesTold, linesToRefusal, readGuide, Site, stepsOf } from './guide.ts';
import { packed } from './packages.ts';
import type { SandboxHost } from './sandbox-host.ts';

t.setTimeout(3_600_000);

const guide = await readGuide();
const page = await readFile(new URL('../../docs/install.md', import.meta.url), 'utf8');
const packageFile = await packed(t);
const built = await builtForge('gitea');

const ini = `RUN_USER = git
WORK_PATH = /var/lib/gitea
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = 3000
ROOT_URL = http://git.example:3000/
STATIC_ROOT_PATH = /usr/local/share/gitea
DISABLE_SSH = true
OFFLINE_MODE = true
[database]
DB_TYPE = sqlite3
[security]
INSTALL_LOCK = true
[log]
LEVEL = Warn
`;

const unit = `[Unit]
[Service]
User=git
Group=git
WorkingDirectory=/var/lib/gitea
ExecStart=/usr/local/bin/gitea web --config /etc/gitea/app.ini
Environment=USER=git
Environment=HOME=/home/git
Environment=GITEA_WORK_DIR=/var/lib/gitea
`;

/** Installs Gitea like its manual; $1 has what was built, the app.ini and the unit. */
const installGitea = `
useradd --create-home git
install -d -o git -g git -m 750 /var/lib/gitea /var/lib/gitea/custom /var/lib/gitea/data /var/lib/gitea/log
install -d -o root -g git -m 770 /etc/gitea
install -o root -g git -m 660 "$1/gitea.ini" /etc/gitea/app.ini
install -m 755 "$1/gitea" /usr/local/bin/gitea
install -d /usr/local/share/gitea
cp -R "$1/source/." /usr/local/share/gitea
install -m 644 "$1/gitea.service" /etc/systemd/system/gitea.service
systemctl enable --now gitea
`;

const password = 'correct horse battery staple';
/** Does what its manual says after the first start, and makes the account of alice. */
const makeAlice = `
chmod 750 /etc/gitea
chmod 640 /etc/gitea/app.ini
runuser -u git -- gitea admin user create --config /etc/gitea/app.ini --username alice \
	--password '${password}' --email alice@git.example --must-change-password=false
`;

/** Resolves once Gitea answers. It makes two hundred tables first, and writes its secrets into app.ini. */
async function answers(sandbox: SandboxHost): Promise<void> {
  const retry = ['--retry', '300', '--retry-delay', '1', '--retry-all-errors'];
  const asked = await sandbox.run('curl', ['-sSf', ...retry, 'http://git.example:3000/api/healthz']);
  if (asked.code === 0) return;
  const log = await sandbox.run('cat', ['/run/systemctl/gitea.service.log']);
  throw new Error(`Gitea does not answer:\n${asked.stderr}${log.stdout}`);
}

function newRepository(sandbox: SandboxHost, name: string): Promise<string> {
  const words = ['-sSf', '--user', `alice:${password}`, '--header', 'Content-Type: application/json'];
  const address = 'http://git.example:3000/api/v1/user/repos';
  const body = JSON.stringify({ name, private: true, default_branch: 'main' });
  return sandbox.must('curl', [...words, '--data', body, address]);
}

t.test('beside a Gitea the commands lead to a refused push, and back to an allowed one', async t => {
  const site = await Site.open(t, packageFile);
  const { sandbox } = site;
  await cp(join(built, 'program'), join(sandbox.folder, 'gitea'), { dereference: true });
  for (const part of ['options', 'templates', 'public']) {
    await cp(join(built, 'source', part), join(sandbox.folder, 'source', part), { recursive: true });
  }
  await writeFile(join(sandbox.folder, 'gitea.ini'), ini);
  await writeFile(join(sandbox.folder, 'gitea.service'), unit);
  await sandbox.must('sh', ['-eu', '-c', installGitea, 'sh', sandbox.folder]);
  await answers(sandbox);
  await sandbox.must('sh', ['-eu', '-c', makeAlice]);
  await newRepository(sandbox, 'app');

  const steps = stepsOf(guide, 'ssh', ['Install softquota', giteaHeading]);
  for (const step of steps) {
    const { code, stdout, stderr } = await site.type(step);
    if (step.kind === 'sh alice') {
      t.not(code, 0, step.text);
      t.match(stderr, /^remote: Quota is 0: alice may not store anything\./m, 'it is refused');
      continue;
    }
    t.equal(code, 0, step.heading, { stdout, stderr });
    if (step.heading !== giteaHeading) continue;
    const setting = /^ *(\[git\.config\])\n *(init\.templateDir = \S+)$/m.exec(stdout);
    t.ok(setting, 'the setting is printed', { stdout });
    t.notMatch(stdout, /To fix it/, 'nothing else is to be done');
    for (const line of setting?.slice(1) ?? []) t.ok(step.text.includes(line), `${line} is typed`);
    await answers(sandbox);
  }
  const lines = linesToRefusal(steps);
  t.ok(lines <= 10, `${lines} command lines`);
  t.equal(linesTold(page, giteaHeading), lines, 'the page says how many');

  const push = (name: string) =>
    sandbox.run('sh', [
      '-c',
      `cd ${site.home}/app && git push http://git.example:3000/alice/${name}.git HEAD:main`,
    ]);
  await newRepository(sandbox, 'later');
  t.match(
    await push('later'),
    { code: 1, stderr: /Quota is 0: alice/ },
    'a later repository is guarded, too',
  );
  for (const step of stepsOf(guide, 'ssh', ['Set the limit', 'Check'])) {
    const { code, stdout, stderr } = await site.type(step);
    t.equal(code, 0, step.heading, { stdout, stderr });
  }
  t.equal((await push('app')).code, 0, 'with a real limit she may push');
});
