/**
 * `./scripts/install` on a host that has NodeSource's Node.js: /usr/bin/node, and npm in /usr/lib/node_modules,
 * of a version that softquota does not run with. Both come from npm's registry, in the layout of those packages.
 */

import t from 'tap';
import { networkSettings } from './dockerfile.ts';
import { SandboxHost } from './sandbox-host.ts';

t.setTimeout(1_800_000);

/** Lays out NodeSource's packages, with nothing of softquota's that this host has. */
const layOut = `
npm install --prefix /opt/other --no-audit --no-fund "node@$version" npm@10 >&2
rm -rf /usr/lib/node_modules /usr/bin/node /usr/bin/npm node_modules
cp /opt/other/node_modules/node/bin/node /usr/bin/node
mkdir /usr/lib/node_modules
cp -r /opt/other/node_modules/npm /usr/lib/node_modules/npm
ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/bin/npm
rm -r /opt/other
`;

const pushIt = `
busybox ip link set lo up
useradd --create-home --groups softquota git
install -d -o git -g git /srv/git
runuser -u git -- git init -q --bare -b main /srv/git/alice/app.git
softquota init /srv/git --total 0 --enforce --hooks --config /etc/softquota/app.ini
systemctl enable --now softquota
cd /home/git
runuser -u git -- sh -eu -c '
	git clone -q /srv/git/alice/app.git clone
	cd clone
	echo hello >hello
	git add hello
	git -c user.name=alice -c user.email=alice@git.example commit -q -m hello
	git push origin main 2>&1 || true'
`;

for (const version of ['18', '22']) {
  t.test(`beside NodeSource's Node.js ${version} the installation works and leaves it alone`, async t => {
    const host = await SandboxHost.open(t, { network: 'shared' });
    const { checkout } = host;
    // The tests' own Node is in /usr/local/bin.
    const PATH = '/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin';
    const sh = (script: string) =>
      host.must('sh', ['-eu', '-c', script], { cwd: checkout, env: { ...networkSettings, PATH, version } });
    await host.must('sh', ['-eu', '-c', layOut], { cwd: checkout, env: { ...networkSettings, version } });
    const others = 'node --version; npm --version; ls /usr/lib/node_modules; npm root -g';
    const before = await sh(others);
    t.match(before, new RegExp(`^v${version}\\.`));
    await sh('umask 077; ./scripts/install');
    t.equal(await sh(others), before, 'no other Node.js is in PATH, and npm has nothing of softquota');
    t.match(await sh('/usr/lib/softquota/node --version'), /^v24\./);
    await sh('runuser -u nobody -- test -x /usr/lib/softquota/hooks/receive-pack/git');
    t.match(
      await sh(`unshare --net sh -eu -c '${pushIt.replaceAll("'", `'\\''`)}'`),
      /^remote: Quota is 0: alice may not store anything\./m,
    );
    await sh('./scripts/install');
    t.equal(await sh('find /usr/lib /usr/local/lib -maxdepth 1 -name "*softquota*"'), '/usr/lib/softquota');
  });
}
