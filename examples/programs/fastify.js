import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import fastify from 'fastify';
import { createClient } from 'softquota/client';

const quota = createClient({ onUnavailable: error => console.error(error.message) });

/** Lets a request through only if its owner may store it. */
function underQuota(subject) {
  return async (request, reply) => {
    const size = Number(request.headers['content-length'] ?? 0);
    const { allowed, message } = await quota.check({ owner: request.params.owner, subject, size });
    if (!allowed) return reply.code(413).send({ message, error: message });
  };
}

const app = fastify();
// Bodies are not read before they are stored.
app.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
app.put('/upload/:owner(^\\w[\\w.-]*$)', {
  onRequest: underQuota('size:assets:attachments:issues'),
  handler: async (request, reply) => {
    const path = join('/srv/attachments', request.params.owner, randomUUID());
    await mkdir(join(path, '..'), { recursive: true });
    await pipeline(request.body, createWriteStream(path));
    // softquota measures the place soon. Without this it does so at the next sweep.
    await quota.changed({ path }).catch(error => console.error(error.message));
    return reply.code(201).send({ path });
  },
});
await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
