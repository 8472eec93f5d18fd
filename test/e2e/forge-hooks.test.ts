/** `softquota hooks install` in the directory of a forge, and the template that it writes there. */

import { chmod, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { makeForgeHooks } from '../git/hooks/forge-hooks.ts';
import { must } from './run.ts';
import { Server } from './server.ts';

async function open(t: Test) {
  const server = await Server.open(t, { started: false });
  // Nobody but its owner writes there.
  await chmod(server.folder, 0o755);
  const repository = await server.repository('alice/app');
  const root = join(server.folder, 'git');
  return {
    server,
    repository,
    root,
    template: join(root, '.softquota/template'),
    install: (...args: readonly string[]) => server.softquota(['hooks', 'install', ...args, root]),
  };
}

t.test('install says what goes into the app.ini of Gitea, and nothing that has no effect there', async t => {
  const { server, repository, root, template, install } = await open(t);
  await makeForgeHooks(repository);
  const { code, stdout } = await install();
  t.equal(code, 0, stdout);
  t.match(stdout, `${repository}: pre-receive installed, post-receive installed`);
  t.match(stdout, `    [git.config]\n    init.templateDir = ${template}\n`);
  t.notMatch(stdout, /git config --system|core\.hooksPath/);
  const hook = await readFile(join(template, 'hooks/pre-receive.d/00-softquota'), 'utf8');
  t.match(hook, `\nsocket=${server.socket('gate')} `);

  const json = JSON.parse((await install('--json')).stdout);
  t.match(json.forges, [{ root, template, fault: null, lines: ['[git.config]', /^init\.templateDir = /] }]);

  const removed = await server.softquota(['hooks', 'remove', root]);
  t.equal(removed.code, 0);
  t.match(
    removed.stdout,
    `${template} is removed: take init.templateDir out of the configuration of the forge.`,
  );
  t.strictSame((await readdir(root)).sort(), ['alice']);
  await install();

  const fresh = server.path('bob/new');
  await must('git', ['-c', `init.templateDir=${template}`, 'init', '-q', '--bare', fresh]);
  await makeForgeHooks(fresh);
  t.equal((await server.softquota(['hooks', 'status', '--config', server.config, root])).code, 0);
});
