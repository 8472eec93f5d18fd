/** A command that only asks the daemon loads little, so that it starts quickly. */

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const built = fileURLToPath(new URL('../../scripts/built.js', import.meta.url));

/** Tells at its end what of Node itself the program has loaded. */
const telling =
  'data:text/javascript,process.on("exit",()=>process.stderr.write(process.moduleLoadList.join("\\n")))';

for (const command of ['usage', 'rule list', 'group list', 'user list', 'health', 'policy export']) {
  t.test(`softquota ${command} asks over a socket without TLS`, async t => {
    const args = ['--import', telling, built, ...command.split(' ')];
    const { stderr } = spawnSync(process.execPath, args, {
      encoding: 'utf8',
      env: { ...process.env, SOFTQUOTA_SERVER_ADMIN_SOCKET: '/nowhere/admin.sock' },
    });
    t.match(stderr, /NativeModule http$/m);
    t.notMatch(stderr, /NativeModule (https|tls|internal\/deps\/undici\/undici)$/m);
  });
}
