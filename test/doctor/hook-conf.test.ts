/** /etc/softquota/hook.conf as doctor reads it: believed or not, line by line, and followed to the letter. */

import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { checkHookConf } from '../../src/doctor/hook-conf.ts';
import { folderFor, write } from './folder.ts';

const socket = '/run/softquota/gate.sock';

function conf(t: Test, text: string): string {
  return write(join(folderFor(t), 'hook.conf'), text);
}

const look = (path: string, served: string | null = socket) => checkHookConf(path, served).findings;

t.test('without one there is nothing to say', async t => {
  t.strictSame(checkHookConf(join(folderFor(t), 'hook.conf'), socket), { findings: [] });
});

t.test('one that says what the daemon says is well, however it is spelled', async t => {
  const text =
    '# the gate\n\n socket = /run/softquota/gate.sock \nonError\tdeny\ntimeout=0.5\nonerror=last\n';
  t.strictSame(look(conf(t, text)), []);
  t.strictSame(look(conf(t, 'timeout=5\n')), [], 'the default socket is the one that the daemon serves');
});

t.test('one that others could have written is named with every reason', async t => {
  const path = conf(t, '');
  chownSync(path, 65534, 65534);
  chmodSync(path, 0o620);
  const [found] = look(path);
  t.match(found, {
    code: 'hook_conf_ignored',
    message: `the hooks ignore ${path}: root does not own it, and other users than its owner can write it, and not everybody can read it`,
    mend: `chown root ${path} && chmod 0644 ${path}`,
  });
});

t.test('a directory in its place is no hook.conf', async t => {
  const path = join(folderFor(t), 'hook.conf');
  mkdirSync(path);
  t.match(look(path), [{ code: 'hook_conf_ignored', message: /is no regular file/ }]);
});

t.test('the last socket counts, and following the mend makes it the one that the daemon serves', async t => {
  const path = conf(t, `socket=${socket}\n# now:\nsocket=/run/it's/other.sock\nonError=deny\n`);
  const [found] = look(path, '/run/a b/gate.sock');
  t.match(found, { code: 'hook_conf_socket', message: /makes the hooks ask at \/run\/it's\/other\.sock/ });
  execFileSync('sh', ['-c', found?.mend ?? '']);
  t.strictSame(look(path, '/run/a b/gate.sock'), []);
  t.match(readFileSync(path, 'utf8'), /onError=deny/, 'all else stays');
});

t.test('where no line names a socket, the default one is compared', async t => {
  const path = conf(t, 'timeout=3\n');
  t.match(look(path, '/run/other.sock'), [
    { code: 'hook_conf_socket', message: /at \/run\/softquota\/gate\.sock/ },
  ]);
  t.strictSame(look(path, null), [], 'as long as anybody can tell what the daemon serves');
});

t.test('every line that no hook can take is named by its number, and goes by its mend', async t => {
  const path = conf(t, `socket=${socket}\ntimeout=soon\nColour=blue\n`);
  const found = look(path);
  t.match(found, [
    {
      code: 'hook_conf_setting',
      message: new RegExp(`^${path}:2: timeout=soon: expected a number of seconds`),
    },
    { code: 'hook_conf_setting', message: new RegExp(`^${path}:3: Colour=blue: expected socket=`) },
  ]);
  execFileSync('sh', ['-c', found[1]?.mend ?? '']);
  execFileSync('sh', ['-c', found[0]?.mend ?? '']);
  t.strictSame(look(path), []);
});
