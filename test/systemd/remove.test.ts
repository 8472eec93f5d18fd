/** Taking the service out where its data is a disk of its own, and where systemd does not run. */

import t from 'tap';
import { SandboxHost } from '../e2e/sandbox-host.ts';

for (const isBooted of [false, true]) {
  t.test(
    `all that is no mount goes, ${isBooted ? 'under systemd' : 'where systemd does not run'}`,
    async t => {
      const host = await SandboxHost.open(t);
      const sh = (script: string) => host.run('sh', ['-euc', script]);
      const units = `${host.checkout}/systemd`;
      // Without the stand-in for systemctl, that of the system finds nobody to ask.
      await sh(isBooted ? 'mkdir -p /run/systemd/system' : 'rm /usr/local/sbin/systemctl');
      t.match(await sh(`"${units}/install"`), { code: 0 });
      const data =
        'mkdir -p /var/lib/softquota; mount -t tmpfs data /var/lib/softquota; echo >/var/lib/softquota/db';
      const left = 'ls -A /var/lib/softquota; ls -d /etc/softquota /usr/lib/softquota 2>/dev/null || true';
      for (const remove of [`"${host.checkout}/packaging/after-remove" purge`, `"${units}/remove"`]) {
        await sh(`mkdir -p /etc/softquota; ${data}`);
        const removed = await sh(remove);
        t.match(
          removed,
          { code: 0, stderr: /softquota: what rm names above stays, such as a mount/ },
          remove,
        );
        t.notMatch((await sh(left)).stdout, 'db');
        await sh('umount /var/lib/softquota');
      }
      t.match(await sh(left), { stdout: '' });
      t.not((await sh('getent passwd softquota')).code, 0);
    },
  );
}
