/** What of a pusher's environment the hooks believe: nothing. */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { Gate, refused } from './gate.ts';
import { byEachClient, World } from './world.ts';

async function pushed(world: World, env: Readonly<Record<string, string>> = {}) {
  await world.commit(`${Math.random()}`);
  const { code, stderr, elapsedMs } = await world.push(['HEAD:main'], env);
  return { code, said: World.said({ code, stderr, stdout: '', elapsedMs }) };
}

byEachClient(
  'nothing in a pusher’s environment changes where the hook asks or what it makes of the answer',
  async (t, client) => {
    const world = await World.open(t, { client });
    const friendly = await Gate.open(join(world.folder, 'friendly.sock'));
    t.teardown(() => friendly.close());
    const home = join(world.folder, 'home');
    await mkdir(home);
    await writeFile(join(home, '.curlrc'), 'output = "/dev/null"\nproxy = "http://127.0.0.1:9"\n');
    await writeFile(
      join(home, '.gitconfig'),
      `[softquota]\n\tsocket = ${friendly.socket}\n\tonError = allow\n`,
    );
    const bin = join(home, 'bin');
    for (const name of ['curl', 'nc', 'socat', 'sleep', 'cat', 'grep', 'sed', 'find']) {
      await world.script(join(bin, name), '#!/bin/sh\nexit 0\n');
    }
    world.gate.answer = refused('over quota\n');
    await world.configure('softquota.onError', 'deny');
    await world.configure('receive.advertisePushOptions', 'true');
    const attacks: readonly Readonly<Record<string, string>>[] = [
      { HOME: home },
      { XDG_CONFIG_HOME: home },
      { CURL_HOME: home },
      {
        GIT_CONFIG_COUNT: '2',
        GIT_CONFIG_KEY_0: 'softquota.socket',
        GIT_CONFIG_VALUE_0: friendly.socket,
        GIT_CONFIG_KEY_1: 'softquota.onError',
        GIT_CONFIG_VALUE_1: 'allow',
      },
      { GIT_CONFIG_PARAMETERS: `'softquota.socket=${friendly.socket}' 'softquota.onError=allow'` },
      { GIT_CONFIG_GLOBAL: join(home, '.gitconfig') },
      {
        http_proxy: 'http://127.0.0.1:9',
        ALL_PROXY: 'socks5://127.0.0.1:9',
        all_proxy: 'http://127.0.0.1:9',
      },
      { PATH: `${bin}:${process.env.PATH}` },
      { socket: friendly.socket, on_error: 'allow', timeout: '0', fault: 'x', have_input: 'yes', input: '' },
      { SOCAT_TRANSFER_WAIT: '5', SOCAT_MAIN_WAIT: '5' },
      { client: 'curl', query: 'path=/x', limit: '0', method: 'POST', address: '/x', took: '9', now: '1' },
      { conf: join(home, 'conf'), name: 'x', decision: 'allowed', status: '200', answer: 'x', who: 'x' },
      { LC_ALL: 'de_DE.UTF-8', LANG: 'tr_TR.UTF-8', LC_NUMERIC: 'de_DE.UTF-8' },
      { IFS: '/', CDPATH: '/tmp', ENV: join(bin, 'curl'), BASH_ENV: join(bin, 'curl'), PWD: '/' },
      { LOGNAME: 'x'.repeat(100_000) },
      { LOGNAME: 'a\nb\x1b\u202e' },
      { REMOTE_USER: 'a&path=/somewhere/else&owner=bob' },
      { GIT_TRACE: '/dev/null', OPENSSL_CONF: join(home, 'openssl.cnf') },
    ];
    for (const attack of attacks) {
      t.same(
        await pushed(world, attack),
        { code: 1, said: 'over quota' },
        JSON.stringify(attack).slice(0, 80),
      );
    }
    t.equal(friendly.questions.length, 0);
    t.equal(world.gate.checks.length, attacks.length);
    for (const check of world.gate.checks) {
      t.same(check.parameters.getAll('path'), [world.bare]);
      t.notOk(check.parameters.has('owner'));
    }
  },
);

t.test(
  'an environment filled to the brim with push options does not keep the gate from being asked',
  async t => {
    const world = await World.open(t);
    world.gate.answer = refused('over quota\n');
    const options = Array.from({ length: 40 }, () => 'x'.repeat(60_000));
    const hook = (last: number) => {
      const env: Record<string, string> = { GIT_DIR: '.', GIT_QUARANTINE_PATH: '/nonexistent' };
      for (const [index, option] of [...options.slice(0, full), 'x'.repeat(last)].entries()) {
        env[`GIT_PUSH_OPTION_${index}`] = option;
      }
      return world.run(join(world.bare, 'hooks/pre-receive'), [], { cwd: world.bare, env });
    };
    const starts = (last: number) =>
      hook(last).then(
        () => true,
        () => false,
      );
    let full = 0;
    while (full < options.length && (await starts(60_000))) full++;
    if (full === options.length)
      return t.comment('this system takes a larger environment than git could send');
    let [fits, tooLong] = [0, 60_000];
    while (tooLong - fits > 1) {
      const middle = (fits + tooLong) >> 1;
      if (await starts(middle)) fits = middle;
      else tooLong = middle;
    }
    t.match(await hook(fits), { code: 1, stderr: 'over quota\n' });
  },
);
