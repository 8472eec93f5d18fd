/**
 * A gitolite3 as Debian packages it, with two users who come through an sshd of its own: alice, its
 * administrator, and bob. Both may make repositories below their names, and push to each other's.
 */

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import { Clone } from './clone.ts';
import { must } from './run.ts';
import type { Server } from './server.ts';
import { keyPair, startSshd } from './transports.ts';

const people = ['alice', 'bob'] as const;

export type Person = (typeof people)[number];

const conf = `
repo gitolite-admin
    RW+ = alice

repo shared
    RW+ = @all
    config softquota.owner = carol

repo CREATOR/..*
    C   = @all
    RW+ = @all
`;

export class Gitolite {
  /** The home of its user, who is the one that runs the tests. */
  readonly home: string;
  readonly #server: Server;
  readonly #url: (path: string) => string;
  readonly #env: Readonly<Record<Person, Readonly<Record<string, string>>>>;

  private constructor(
    server: Server,
    home: string,
    url: (path: string) => string,
    env: Readonly<Record<Person, Readonly<Record<string, string>>>>,
  ) {
    this.#server = server;
    this.home = home;
    this.#url = url;
    this.#env = env;
  }

  static async open(t: Test, server: Server): Promise<Gitolite> {
    const home = join(server.folder, 'gl');
    const folder = join(server.folder, 'ssh');
    await mkdir(home, { mode: 0o755 });
    await mkdir(folder, { mode: 0o700 });
    const keys = { alice: await keyPair(folder, 'alice'), bob: await keyPair(folder, 'bob') };
    const { url, envOf } = await startSshd(t, folder, [
      `AuthorizedKeysFile ${home}/.ssh/authorized_keys`,
      // HOME is that of a user of its own.
      `SetEnv HOME=${home}`,
    ]);
    const gitolite = new Gitolite(server, home, url, { alice: envOf(keys.alice), bob: envOf(keys.bob) });
    await must('gitolite', ['setup', '-pk', `${keys.alice}.pub`], { env: { HOME: home } });
    await gitolite.configure(/(GIT_CONFIG_KEYS\s*=>\s*)''/, "$1'.*'");
    const admin = await gitolite.clone('alice', 'gitolite-admin');
    await admin.git('pull', '-q', 'origin', 'HEAD');
    await writeFile(join(admin.folder, 'keydir/bob.pub'), await readFile(`${keys.bob}.pub`));
    await writeFile(join(admin.folder, 'conf/gitolite.conf'), conf);
    await admin.git('add', '.');
    await admin.git('commit', '-q', '-m', 'bob may come, too');
    await admin.git('push', '-q', 'origin', 'HEAD:master');
    return gitolite;
  }

  /** Changes .gitolite.rc. */
  async configure(from: RegExp, to: string): Promise<void> {
    const file = join(this.home, '.gitolite.rc');
    await writeFile(file, (await readFile(file, 'utf8')).replace(from, to));
  }

  /** Path of a repository, which may not exist yet. */
  path(name: string): string {
    return join(this.home, 'repositories', `${name}.git`);
  }

  /** Somebody's empty working copy. */
  clone(person: Person, name: string): Promise<Clone> {
    return Clone.of(this.#server, this.#url(`/${name}`), { env: this.#env[person] });
  }
}
