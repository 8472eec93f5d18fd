/**
 * A whole installation of softquota, as its manual has it: on a host of its own, the daemon as a service
 * with a user of its own, two people's repositories that belong to git, and the hooks in them.
 */

import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { z } from 'zod';
import { type Finding, finding } from '../../src/wire/index.ts';
import { ask, until } from './ask.ts';
import type { Run, RunOptions } from './run.ts';
import { SandboxHost } from './sandbox-host.ts';

/** This checkout, which is there in each installation. */
export const checkout = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

const launcher = fileURLToPath(new URL('../../scripts/built.js', import.meta.url));

const config = `
[server]
DATA_PATH = /var/lib/softquota
SOCKET = /run/softquota/gate.sock
HTTP_PORT = 0
[quota]
ENABLED = true
[quota.default]
TOTAL = 10M
[storage.repos]
PATH = /srv/git/{owner}/{repo}.git
[scan]
SCHEDULE = 0 0 1 1 *
`;

const unit = `
[Service]
ExecStart=softquota serve
ExecReload=kill -HUP $MAINPID
User=softquota
Group=softquota
RuntimeDirectory=softquota
StateDirectory=softquota
StateDirectoryMode=0711
`;

const install = `
set -e
printf '#!/bin/sh\\nNODE_COMPILE_CACHE=/tmp/compiled exec node %s "$@"\\n' "$launcher" >/usr/local/bin/softquota
chmod 755 /usr/local/bin/softquota
useradd -r -d /var/lib/softquota softquota
useradd -m -G softquota git
mkdir -p /etc/softquota /etc/systemd/system
printf '%s' "$config" >/etc/softquota/app.ini
printf '%s' "$unit" >/etc/systemd/system/softquota.service
install -d -o git -g git /srv/git
cd /srv/git
for each in alice/app bob/site; do
	runuser -u git -- git init -q --bare "$each.git"
done
softquota hooks install /srv/git
systemctl start softquota
`;

export class Installation {
  readonly #sandbox: SandboxHost;

  private constructor(sandbox: SandboxHost) {
    this.#sandbox = sandbox;
  }

  static async open(t: Test): Promise<Installation> {
    const installation = new Installation(await SandboxHost.open(t));
    await installation.sh(install, { env: { launcher, config, unit } });
    await installation.ready();
    return installation;
  }

  /** A script on the host, as root; rejects where it fails. */
  sh(script: string, options: RunOptions = {}): Promise<string> {
    return this.#sandbox.must('sh', ['-c', script], options);
  }

  /** Findings of doctor without the one that no worker runs here, which the daemon says after a while. */
  async findings(): Promise<readonly Finding[]> {
    const { stdout, stderr } = await this.doctor('--json');
    if (stderr !== '') throw new Error(stderr);
    const found = z.array(finding).parse(JSON.parse(stdout));
    return found.filter(({ code }) => code !== 'broken_pushes');
  }

  doctor(...args: readonly string[]): Promise<Run> {
    return this.#sandbox.run('softquota', ['doctor', ...args]);
  }

  as(user: string, command: string): Promise<Run> {
    return this.#sandbox.run('runuser', ['-u', user, '--', 'sh', '-c', command], { cwd: '/' });
  }

  /** Resolves once a daemon answers, and knows what is stored. */
  ready(): Promise<true> {
    const socket = this.#sandbox.outside('/run/softquota/gate.sock');
    const isReady = () => ask(socket, '/readyz').then(({ status }) => status === 200);
    return until(async () => ((await isReady().catch(() => false)) ? true : null));
  }
}
