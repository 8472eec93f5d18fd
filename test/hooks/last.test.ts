/**
 * Unless onError says otherwise, without the daemon the hooks go by what it published last, beside its
 * socket.
 */

import { chmod, chown, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { plain } from './gate.ts';
import { World } from './world.ts';

const asked = 'softquota: the quota could not be checked';
const minute = 60_000;
const hour = 60 * minute;
const timeAt = (milliseconds: number) => `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
const headerAt = (time: string) => `softquota refused\t1\t${time}\tCASE=fold\n`;
const at = timeAt(Date.now());
const header = headerAt(at);
const reason = 'Quota exceeded: alice uses 12.4 GB of 10 GB (124 %).';

async function withoutDaemon(t: Test, options: Parameters<typeof World.open>[1] = {}) {
  const world = await World.open(t, options);
  await world.gate.close();
  await world.configure('softquota.timeout', '0.1');
  await world.commit('first');
  const file = join(world.folder, 'gate.refused');
  return {
    world,
    file,
    publish: (text: string | Buffer, mode = 0o640) => writeFile(file, text).then(() => chmod(file, mode)),
    pushed: async () => {
      const push = await world.push(['HEAD:main']);
      return { code: push.code, said: World.said(push) };
    },
  };
}

const away = `${asked} (the daemon does not answer)`;
const passes = { code: 0, said: `${away}; according to the list of ${at}, this push is allowed.` };
const doubtful = (why: string) => ({ code: 0, said: `${away}, and ${why}, so this push is allowed.` });

t.test('a repository that was refused last is refused, with the same words and since when', async t => {
  const { world, publish, pushed } = await withoutDaemon(t);
  await publish(`${header}path\t${world.bare}\t${reason}\n`);
  t.same(await pushed(), {
    code: 1,
    said: `${reason}\n${away}; according to the list of ${at}, this push is refused.`,
  });
  t.equal(await world.refs(), '');
  t.equal((await world.push(['HEAD:main', '--dry-run'])).code, 0);
});

t.test('one that was not refused last is let through, and its pusher is told by what', async t => {
  const { publish, pushed } = await withoutDaemon(t);
  await publish(header);
  t.same(await pushed(), passes);
});

t.test('an answer that decides nothing is decided by the same', async t => {
  const { world, publish } = await withoutDaemon(t);
  const file = join(world.folder, 'upload');
  await world.put('upload', file);
  const other = await World.open(t);
  other.gate.answer = plain(503);
  await writeFile(world.hookConf, `socket=${other.gate.socket}\ntimeout=0.1\n`);
  await publish(`${header}owner\talice\tsize:git:lfs\t${reason}\n`);
  await rename(join(world.folder, 'gate.refused'), join(other.folder, 'gate.refused'));
  t.match(await world.run(file, ['alice', 'size:git:lfs']), {
    code: 1,
    stderr: `${reason}\n${asked} (the answer was 503); according to the list of ${at}, this upload is refused.\n`,
  });
});

t.test('only a line for this very path counts, whatever characters it has', async t => {
  const { world, publish, pushed } = await withoutDaemon(t, { bare: 'a.ice/[app]*\\n^$.git' });
  const { bare } = world;
  await publish(
    header +
      [
        `path\t${bare}x\t${reason}`,
        `path\t${bare.slice(0, -1)}\t${reason}`,
        `path\t${bare.replace('a.ice', 'alice')}\t${reason}`,
        `path\t${bare.toUpperCase()}\t${reason}`,
        `owner\t${bare}\t${reason}`,
        `xpath\t${bare}\t${reason}`,
        `path\t/srv/other.git\tpath\t${bare}\t${reason}`,
        `path\t${bare}`,
      ].join('\n'),
  );
  t.same(await pushed(), passes);
  await world.commit('second');
  await publish(`${header}path\t${bare}\t${reason}\n`);
  t.match(await pushed(), { code: 1 });
});

t.test('a path that is no UTF-8 is found by its bytes', async t => {
  const { world, publish } = await withoutDaemon(t);
  const odd = Buffer.concat([Buffer.from(`${world.folder}/odd`), Buffer.of(0xff), Buffer.from('.git')]);
  await mkdir(odd);
  await writeFile(world.hookConf, `socket=${world.gate.socket}\ntimeout=0.1\n`);
  await publish(Buffer.concat([Buffer.from(`${header}path\t`), odd, Buffer.from(`\t${reason}\n`)]));
  const script = `cd "$1"/odd*.git && GIT_QUARANTINE_PATH=/nonexistent exec "$2" </dev/null`;
  const hook = join(world.bare, 'hooks/pre-receive');
  t.match(await world.run('sh', ['-c', script, 'sh', world.folder, hook]), { code: 1 });
});

t.test('what cannot be relied on decides nothing, and the pusher reads why', async t => {
  const { world, file, publish, pushed } = await withoutDaemon(t);
  const listed = `${header}path\t${world.bare}\t${reason}\n`;
  const again = async () => {
    await world.commit(`${Math.random()}`);
    return pushed();
  };
  t.same(await again(), doubtful('no earlier list of refused owners exists'));
  for (const mode of [0o660, 0o602]) {
    await publish(listed, mode);
    t.same(await again(), doubtful('the earlier list of refused owners cannot be trusted'));
  }
  await publish(listed, 0o640);
  for (const mode of [0o770, 0o707]) {
    await chmod(world.folder, mode);
    t.same(
      await again(),
      doubtful('the earlier list of refused owners cannot be trusted'),
      'others may replace it',
    );
  }
  await chmod(world.folder, 0o755);
  await rename(file, `${file}.real`);
  await symlink(`${file}.real`, file);
  t.same(await again(), doubtful('the earlier list of refused owners cannot be trusted'));
  await rename(`${file}.real`, file);
  for (const text of [
    '',
    '\n',
    listed.replace('refused\t1', 'refused\t2'),
    listed.replace(at, 'yesterday'),
    listed.replace(at, '2026-1-1'),
    listed.slice(header.length),
  ]) {
    await publish(text);
    t.same(await again(), doubtful('the earlier list of refused owners cannot be read'));
  }
  await publish(listed);
  t.match(await again(), { code: 1 });
});

t.test('a list that is older than lastFor counts as none, and so does one from as far ahead', async t => {
  const { world, publish, pushed } = await withoutDaemon(t);
  const again = async (milliseconds: number) => {
    await publish(`${headerAt(timeAt(Date.now() + milliseconds))}path\t${world.bare}\t${reason}\n`);
    await world.commit(`${milliseconds}`);
    return pushed();
  };
  t.match(await again(-24 * hour + minute), { code: 1 });
  t.same(await again(-24 * hour - minute), doubtful('the earlier list of refused owners is older than 24h'));
  t.match(await again(24 * hour - minute), { code: 1 });
  t.match(await again(24 * hour + minute), { code: 0 });
  await world.configure('softquota.lastFor', '2h');
  t.same(await again(-2 * hour - minute), doubtful('the earlier list of refused owners is older than 2h'));
  t.match(await again(-2 * hour + minute), { code: 1 });
});

t.test('days are counted as the calendar has them', async t => {
  const { world, publish } = await withoutDaemon(t);
  const file = join(world.folder, 'upload');
  await world.put('upload', file);
  const day = 24 * hour;
  for (const days of [1, 7, 28, 31, 59, 92, 183, 365, 366, 700, 999]) {
    await writeFile(world.hookConf, `socket=${world.gate.socket}\ntimeout=0.1\nlastFor=${days}d\n`);
    for (const [milliseconds, code] of [
      [minute - days * day, 1],
      [-minute - days * day, 0],
    ] as const) {
      const time = timeAt(Date.now() + milliseconds);
      await publish(`${headerAt(time)}owner\talice\tsize:git:lfs\t${reason}\n`);
      t.equal((await world.run(file, ['alice', 'size:git:lfs'])).code, code, `${days} days, ${time}`);
    }
  }
});

t.test('what is no file neither hangs nor misleads', async t => {
  const { world, file, pushed } = await withoutDaemon(t);
  for (const [command, why] of [
    ['mkfifo', 'the earlier list of refused owners cannot be trusted'],
    ['mkdir', 'the earlier list of refused owners cannot be trusted'],
    ['ln -s /dev/zero', 'the earlier list of refused owners cannot be trusted'],
    ['ln -s not-there', 'no earlier list of refused owners exists'],
  ] as const) {
    await world.must('sh', ['-c', `${command} "$1"`, 'sh', file]);
    await world.commit(command);
    t.same(await pushed(), doubtful(why), command);
    await rm(file, { recursive: true });
  }
});

t.test('a reason is shown with its printable characters only', async t => {
  const { world, publish, pushed } = await withoutDaemon(t);
  await publish(`${header}path\t${world.bare}\tQuota\x1b[31m exceeded\u202e: J\u00fcrgen\n`);
  t.match(await pushed(), { code: 1, said: /^Quota\[31m exceeded: J\u00fcrgen\n/ });
});

t.test('an upload is looked up by owner and subject, names without the case of ASCII letters', async t => {
  const { world, publish } = await withoutDaemon(t);
  const file = join(world.folder, 'upload');
  await world.put('upload', file);
  await writeFile(world.hookConf, `socket=${world.gate.socket}\ntimeout=0.1\n`);
  const upload = async (owner: string, subject = 'size:git:lfs') =>
    (await world.run(file, [owner, subject])).code;
  const lines = `owner\tjür.gen & co\tsize:git:lfs\t${reason}\n`;
  await publish(header + lines);
  t.equal(await upload('jür.gen & co'), 1);
  t.equal(await upload('JüR.Gen & CO'), 1);
  t.equal(await upload('JÜR.Gen & CO'), 0, 'beyond ASCII case tells names apart');
  t.equal(await upload('jürxgen & co'), 0);
  t.equal(await upload('jür.gen & co', 'size:git'), 0);
  t.equal(await upload('jür.gen & co', 'size:git:lfs:x'), 0);
  await publish(header.replace('CASE=fold', 'CASE=keep') + lines);
  t.equal(await upload('jür.gen & co'), 1);
  t.equal(await upload('JÜR.Gen & CO'), 0);
});

t.test('of 100,000 lines the right one is found well within the time-out', async t => {
  const { world, publish, pushed } = await withoutDaemon(t);
  const others = Array.from({ length: 100_000 }, (_, n) => `path\t/srv/git/o${n}/app.git\t${reason}\n`);
  await publish(`${header}${others.join('')}path\t${world.bare}\t${reason}\n`);
  t.match(await pushed(), { code: 1 });
});

t.test('a file that may not be read is said to be of no use', async t => {
  const { world, file, publish } = await withoutDaemon(t);
  await publish(`${header}path\t${world.bare}\t${reason}\n`, 0o600);
  await chown(file, 12_345, 12_345);
  await chmod(world.folder, 0o755);
  await chmod(world.bare, 0o755);
  const hook = join(world.bare, 'hooks/pre-receive');
  const asNobody = ['--reuid=65534', '--regid=65534', '--clear-groups', hook];
  const env = { GIT_QUARANTINE_PATH: '/nonexistent' };
  t.match(await world.run('setpriv', asNobody, { cwd: world.bare, env }), {
    code: 0,
    stderr: `${doubtful('the earlier list of refused owners cannot be trusted').said}\n`,
  });
});
