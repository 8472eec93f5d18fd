/**
 * A whole host to install on: a copy-on-write copy of this one, with processes, mounts, users, name and
 * network of its own. What a manual tells an administrator to do is done there as it stands, as root and at
 * the usual places and ports, and nothing of this host changes.
 *
 * Or a copy of another root directory, which has no Node of this host's.
 *
 * It is not booted: nothing runs at first, and `systemctl` is the stand-in beside this file.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { temporaryFolder } from '../temporary-folder.ts';
import { must, type Runner, type RunOptions, run } from './run.ts';

export interface SandboxOptions {
  /** A shared one is that of the host around it, for what has to be fetched. */
  readonly network?: 'own' | 'shared';
  /** The directory that it is a copy of; this host's own unless given. */
  readonly root?: string;
}

const checkout = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

/** Environment of root after a login, with Node's compile cache, so that commands start quickly. */
const environment: Readonly<Record<string, string>> = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: '/root',
  LC_ALL: 'C.UTF-8',
  NODE_COMPILE_CACHE: '/tmp/compiled',
};

/**
 * Becomes the host's first process, and ends with it all others, when standard input closes.
 *
 * $1 is an empty folder that is seen under the same path from inside; $2 is Node, $3 the stand-in for
 * systemctl; $4 is its network, "own" or "shared"; $5 is this checkout, which is there wherever it lies; $6
 * is the directory that the host is a copy of, $7 the place of Node there.
 */
const boot = `
set -e
read -r pid others </proc/self/stat # as the host around it counts
mount --make-rprivate /
layers=$1.host
mkdir "$layers"
mount -t tmpfs -o mode=755 host "$layers"
mkdir "$layers/upper" "$layers/work" "$layers/root" "$layers/checkout" "$layers/work-checkout"
mount -t overlay -o "lowerdir=$6,upperdir=$layers/upper,workdir=$layers/work" host "$layers/root"
cd "$layers/root"
mount -t proc proc proc
mount --rbind /dev dev
mount -t tmpfs -o mode=755 run run
mkdir -m 1777 run/lock
mount -t tmpfs -o mode=1777 tmp tmp
mkdir -m 1777 tmp/compiled
mkdir -p ".$1"
mount --bind "$1" ".$1"
mkdir -p ".$5"
mount -t overlay -o "lowerdir=$5,upperdir=$layers/checkout,workdir=$layers/work-checkout" host ".$5"
touch ".$7" usr/local/lib/systemctl.ts
mount --bind "$2" ".$7"
mount --bind "$3" usr/local/lib/systemctl.ts
printf '#!/bin/sh\nexec %s /usr/local/lib/systemctl.ts "$@"\n' "$7" >usr/local/sbin/systemctl
chmod +x usr/local/sbin/systemctl
# Nothing can be fetched. Of this host, what is installed is the newest; another root may have more in its cache.
[ "$6" != / ] || mount -t tmpfs lists var/lib/apt/lists
# dpkg has man index all pages anew, which takes seconds at each package.
rm -f var/lib/man-db/auto-update
hostname git.example
if [ "$4" = own ]; then
	busybox ip link set lo up
	echo '127.0.0.1 localhost git.example' >etc/hosts
fi
exec chroot . sh -c 'cd /root && echo "$1" && exec cat' sh "$pid"
`;

export class SandboxHost {
  /** Seen under this path from both sides. */
  readonly folder: string;
  /** This checkout, under the same path from both sides. */
  readonly checkout = checkout;
  /** The directory that it is a copy of. What others do there meanwhile is seen in it, too. */
  readonly root: string;
  /** Its first process, as it is known outside. */
  readonly #pid: string;

  private constructor(folder: string, root: string, pid: string) {
    this.folder = folder;
    this.root = root;
    this.#pid = pid;
  }

  static async open(t: Test, { network = 'own', root = '/' }: SandboxOptions = {}): Promise<SandboxHost> {
    const folder = temporaryFolder(t);
    const systemctl = fileURLToPath(new URL('systemctl.ts', import.meta.url));
    const own = ['--mount', '--pid', '--fork', '--uts', '--ipc', '--kill-child'];
    if (network === 'own') own.push('--net');
    // Node is a program of the tests only, in a root that is to have no Node.
    const node = root === '/' ? '/usr/local/bin/node' : '/usr/local/lib/node-of-tests';
    const given = [folder, process.execPath, systemctl, network, checkout, root, node];
    const first = spawn('unshare', [...own, 'sh', '-c', boot, 'sh', ...given], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: environment,
    });
    let complaint = '';
    first.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaint += text;
    });
    const ended = once(first, 'close');
    t.teardown(async () => {
      first.stdin.end();
      await ended;
      await rm(`${folder}.host`, { recursive: true, force: true });
    });
    const lines = createInterface({ input: first.stdout });
    const up = await Promise.race([once(lines, 'line'), ended.then(() => null)]);
    if (up === null) throw new Error(`the host does not come up: ${complaint}`);
    return new SandboxHost(folder, root, String(up[0]));
  }

  /**
   * The arguments with which nsenter runs a program in it, as root, in an environment of its own and `env`.
   */
  entering(
    [command, ...args]: readonly [string, ...string[]],
    { cwd = '/root', env = {} }: Pick<RunOptions, 'cwd' | 'env'>,
  ): string[] {
    const spaces = ['--mount', '--pid', '--net', '--uts', '--ipc', '--root'];
    const variables = Object.entries({ ...environment, ...env }).map(([name, value]) => `${name}=${value}`);
    return ['--target', this.#pid, ...spaces, `--wdns=${cwd}`, 'env', '-i', ...variables, command, ...args];
  }

  readonly run: Runner = (command, args, options = {}) => {
    const { cwd, env, ...others } = options;
    const where = { ...(cwd === undefined ? {} : { cwd }), ...(env === undefined ? {} : { env }) };
    return run('nsenter', this.entering([command, ...args], where), others);
  };

  /** Path of a file of the host as seen from outside; sockets can be connected to there. */
  outside(path: string): string {
    return `/proc/${this.#pid}/root${path}`;
  }

  must(command: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
    return must(command, args, options, this.run);
  }
}
