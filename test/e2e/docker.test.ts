/** The image and the compose file, without a container engine: see dockerfile.ts for what stands for what. */

import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { parse } from 'yaml';
import { z } from 'zod';
import { startSingle } from '../store/redis-servers.ts';
import { build, type Stage } from './dockerfile.ts';
import { fleetHost } from './fleet-hosts.ts';
import { type Block, iniOf, readGuide } from './guide.ts';
import { type Run, run } from './run.ts';

const checkout = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
const noBlock: Block = { kind: 'ini', heading: '', text: '' };
const text = (name: string) => readFile(new URL(`../../${name}`, import.meta.url), 'utf8');

const compose = z.object({
  services: z.object({
    softquota: z.strictObject({
      build: z.literal('.'),
      image: z.string(),
      restart: z.string(),
      read_only: z.literal(true),
      cap_drop: z.tuple([z.literal('ALL')]),
      cap_add: z.tuple([z.literal('DAC_READ_SEARCH')]),
      entrypoint: z.array(z.string()),
      command: z.array(z.string()),
      ports: z.tuple([z.literal('127.0.0.1:3080:3080')]),
      group_add: z.array(z.string()),
      environment: z.record(z.string(), z.string()),
      tmpfs: z.array(z.string()),
      volumes: z.array(z.string()),
      healthcheck: z.object({ test: z.array(z.string()) }).loose(),
    }),
  }),
  volumes: z.record(z.string(), z.null()),
});

/** Options that a container adds to an image. */
interface Container {
  /** Mounts and what else root prepares, before the root becomes read-only. */
  readonly prepare?: string;
  readonly groups?: string;
  /**
   * Capabilities that may be taken, as setpriv names them; a user other than root has none of them at first.
   */
  readonly bounding?: string;
}

/**
 * Runs a shell's lines as the image's user, on a root that is only read, as the engine would start a
 * container.
 */
function inContainer(
  stage: Stage,
  script: string,
  { prepare = 'true', groups, bounding = '-all' }: Container = {},
): Promise<Run> {
  const [uid = '', gid = ''] = stage.user.split(':');
  const env = {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: '/',
    ...stage.env,
  };
  const become = [
    ...['setpriv', '--reuid', uid, '--regid', gid],
    ...(groups === undefined ? ['--clear-groups'] : ['--groups', groups]),
    ...['--inh-caps=-all', '--ambient-caps=-all', `--bounding-set=${bounding}`],
    ...['env', '-i', ...Object.entries(env).map(([name, value]) => `${name}=${value}`)],
  ].join(' ');
  const volumes = stage.volumes.map(
    path => `mount -t tmpfs -o "uid=${uid},gid=${gid},mode=700" volume ${path}`,
  );
  const mounts = [`mkdir -p /run/softquota`, ...volumes, prepare, 'mount -o remount,bind,ro /'].join(' && ');
  return stage.sandbox.run(
    'unshare',
    ['--mount', 'sh', '-c', `${mounts} && exec ${become} sh -c "$0"`, script],
    {
      cwd: stage.workdir,
    },
  );
}

t.test('the Dockerfile’s steps give a tree in which everything runs', async t => {
  const stage = await build(t, checkout);

  await t.test('there is what runs, and nothing that builds or tests', async t => {
    const listed = await stage.run('ls /opt/softquota');
    t.equal(listed.stdout, 'bin\ndist\nhooks\npackage.json\n');
    t.match(await stage.run('ls /opt/softquota/dist/web'), { stdout: /^assets\nindex.html\n/ });
    const { stdout: size } = await stage.run('du -sm /opt/softquota | cut -f1');
    t.ok(Number(size) < 16, `${size.trim()} MB`);
    t.equal(
      (await stage.run('getcap -r /usr/local/bin')).stdout,
      '/usr/local/bin/read-all cap_dac_read_search=ep\n',
    );
    t.match(await stage.run('getent passwd 10001'), { stdout: /^softquota:/ });
  });

  await t.test('its user is not root, its root is only read, and the playground plays there', async t => {
    t.match(stage.user, /^[1-9]\d*:[1-9]\d*$/);
    const write = await inContainer(stage, 'id -u; touch /opt/softquota/x /x');
    t.match(write, { code: 1, stdout: '10001\n', stderr: /Read-only file system/ });
    const [program = ''] = stage.entrypoint;
    const played = await inContainer(stage, `${program} playground --exit --dir /tmp/playground`);
    t.equal(played.code, 0, played.stdout + played.stderr);
    t.match(played.stdout, /remote: Quota exceeded: alice uses .* of 1 MB/);
    t.match(played.stdout, /Every step went as described\.\n$/);
  });

  const { services } = compose.parse(parse(await text('compose.yaml')));
  const { softquota: service } = services;
  const ini = /```ini\n(.*?)```/s.exec(await text('docs/docker.md'))?.[1] ?? '';
  /**
   * The container of compose.yaml: sockets' directory, configuration, and repositories of others, of mode
   * 0700.
   */
  const prepare = [
    'mount -t tmpfs -o uid=10001,gid=10001,mode=755 sockets /run/softquota',
    'mkdir -p /etc/softquota',
    `printf '%s' '${ini}' >/etc/softquota/app.ini`,
    'rm -rf /srv/git && git init -q --bare /srv/git/alice/app.git && chmod -R go= /srv/git',
    'head -c 123456 /dev/zero >/srv/git/alice/app.git/objects/some',
  ].join(' && ');
  const bounding = '-all,+dac_read_search';
  const groups = '4242';

  await t.test('compose’s service reads repositories of mode 0700, is healthy, and stops', async t => {
    t.strictSame(stage.healthcheck, ['softquota', 'health']);
    t.strictSame(service.healthcheck.test, ['CMD', ...stage.healthcheck]);
    const { SOFTQUOTA__SERVER__HTTP_ADDR: address, ...others } = service.environment;
    t.strictSame(Object.keys(others), ['SOFTQUOTA__SERVER__SOCKET_GROUP']);
    t.equal(address, '0.0.0.0', 'the port of `ports` leads to the web UI');
    const lived = await inContainer(
      stage,
      `export SOFTQUOTA__SERVER__SOCKET_GROUP=${groups} SOFTQUOTA__SERVER__HTTP_ADDR=${address}
      ${stage.healthcheck.join(' ')}; echo "health $?"
      ${[...service.entrypoint, ...service.command].join(' ')} 2>/tmp/log & daemon=$!
      until softquota health --ready >/dev/null; do [ -d /proc/$daemon ] || break; done
      ${stage.healthcheck.join(' ')}; echo "health $?"
      stat -c '%a %g' /run/softquota/gate.sock
      softquota usage alice --json
      kill -${stage.stopSignal.replace('SIG', '')} $daemon; wait $daemon; echo "stopped $?"
      cat /tmp/log >&2`,
      { prepare, groups, bounding },
    );
    t.match(lived.stdout, /^no answer\n.*\nhealth 1\nok\nhealth 0\n660 4242\n/, lived.stderr);
    t.match(lived.stdout, /stopped 0\n$/);
    const usage = JSON.parse(/^\{\n.*^\}$/ms.exec(lived.stdout)?.[0] ?? '{}');
    t.ok(usage.total >= 123456, `measured: ${usage.total}`);
    t.equal(usage.partial, false);
  });

  await t.test('a push is refused as the manual says, and passes after the real limit is set', async t => {
    const page = await readGuide('docker.md');
    const edits = page.flatMap(
      ({ text: lines }) => /^(sed .*)\ndocker compose restart/.exec(lines)?.[1] ?? [],
    );
    t.equal(edits.length, 2);
    /** The host: root pushes to the repositories, once the container answers. */
    const host = `
      mount --bind /srv/git /srv/git && softquota hooks install /srv/git >/dev/null &&
      rm -rf /tmp/host /tmp/pushed && git init -q -b main /tmp/host && cd /tmp/host &&
      git -c user.name=alice -c user.email=alice@git.example commit -q --allow-empty -m hello &&
      { (until softquota health --ready >/dev/null; do sleep 0.1; done
        git push /srv/git/alice/app.git main >/tmp/push 2>&1; echo "exit $?" >>/tmp/push; mv /tmp/push /tmp/pushed) & }`;
    const pushed = async (edit: string): Promise<string> => {
      const configured = `${prepare} && cd /etc/softquota && ${edit} && ${host}`;
      const { stdout, stderr } = await inContainer(
        stage,
        `export SOFTQUOTA__SERVER__SOCKET_GROUP=${groups}
        ${[...service.entrypoint, ...service.command].join(' ')} 2>/tmp/log & daemon=$!
        until [ -e /tmp/pushed ]; do [ -d /proc/$daemon ] || break; sleep 0.1; done
        cat /tmp/pushed || cat /tmp/log; kill $daemon; wait $daemon`,
        { prepare: configured, groups, bounding },
      );
      return stdout + stderr;
    };
    const [refuse = '', allow = ''] = edits;
    const refused = await pushed(refuse);
    t.match(refused, /^remote: Quota is 0: alice may not store anything\.[\s\S]*^exit 1$/m);
    const allowed = await pushed(`${refuse} && ${allow}`);
    t.match(allowed, /^exit 0$/m);
    t.notMatch(allowed, /remote: (Quota|softquota)/, 'and was asked about');
  });

  await t.test('without the permission it does not start, and says why', async t => {
    const refused = await inContainer(stage, [...service.entrypoint, ...service.command].join(' '), {
      prepare,
    });
    t.match(refused, { code: 126, stderr: /read-all: Operation not permitted/ });
  });
});

t.test('compose gives paths that are the same inside and outside, to be read only', async t => {
  const { services, volumes } = compose.parse(parse(await text('compose.yaml')));
  const shared = services.softquota.volumes.filter(each => each.startsWith('/'));
  t.strictSame(shared, ['/run/softquota:/run/softquota', '/srv/git:/srv/git:ro']);
  const named = services.softquota.volumes.filter(each => /^\w/.test(each)).map(each => each.split(':')[0]);
  t.strictSame(named, Object.keys(volumes));
});

const withRedis = z.strictObject({
  services: z.strictObject({
    softquota: z.object({ networks: z.tuple([z.literal('quota')]) }).loose(),
    redis: z
      .object({
        image: z.string().regex(/^redis:[7-9]/),
        read_only: z.literal(true),
        cap_drop: z.tuple([z.literal('ALL')]),
        command: z.array(z.string()),
        networks: z.tuple([z.literal('quota')]),
        ports: z.tuple([z.string().startsWith('127.0.0.1:')]),
        volumes: z.array(z.string()),
        healthcheck: z.object({ test: z.tuple([z.literal('CMD-SHELL'), z.string()]) }).loose(),
      })
      .loose(),
  }),
  networks: z.strictObject({ quota: z.null() }),
  volumes: z.strictObject({ redis: z.null() }),
});

t.test('compose’s Redis runs as the manual sets one up, is healthy, and lets only softquota in', async t => {
  // Docker's own tag, which takes out what the first file says.
  const customTags = [{ tag: '!reset', resolve: () => null }];
  const { services } = withRedis.parse(parse(await text('compose.redis.yaml'), { customTags }));
  const { command, healthcheck, volumes } = services.redis;
  t.strictSame(command, ['redis-server', '/etc/redis/redis.conf']);
  const [file = '', ...acl] = volumes;
  t.equal(file, './share/redis/redis.conf:/etc/redis/redis.conf:ro');
  t.strictSame(acl, ['./users.acl:/etc/redis/users.acl:ro', 'redis:/data']);

  const folder = t.testdir({ 'users.acl': await text('share/redis/users.acl') });
  const conf = await text('share/redis/redis.conf');
  await writeFile(`${folder}/redis.conf`, conf.replace('/etc/redis', folder));
  const { servers } = await startSingle(t, '--include', `${folder}/redis.conf`);
  const { port } = servers[0];
  const [, healthy] = healthcheck.test;
  const check = healthy.replace('redis-cli', `redis-cli -p ${port}`);
  t.equal((await run('sh', ['-c', check])).code, 0);
  t.match(await servers[0].cli('ping'), /NOAUTH/);
  const { HOST = '' } =
    iniOf(
      (await readGuide('docker.md')).filter(
        ({ heading, kind }) => heading === 'With Redis' && kind === 'ini',
      )[0] ?? noBlock,
    ).store ?? {};
  const address = String(HOST).replace('redis:6379', `127.0.0.1:${port}`);
  const server = await fleetHost(t, { address, host: 'git1' });
  t.equal(await server.reasons(), '');
  await servers[0].end();
  t.not((await run('sh', ['-c', check])).code, 0);
});
