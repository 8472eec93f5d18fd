import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import express from 'express';
import { createClient } from 'softquota/client';

const quota = createClient({ onUnavailable: error => console.error(error.message) });

/** Lets a request through only if its owner may store it. */
function underQuota(subject) {
  return async (request, response, next) => {
    const size = Number(request.headers['content-length'] ?? 0);
    const { allowed, message } = await quota.check({ owner: request.params.owner, subject, size });
    if (allowed) next();
    else response.status(413).json({ message, error: message });
  };
}

const app = express();
app.param('owner', (_request, _response, next, owner) =>
  next(/^\w[\w.-]*$/.test(owner) ? undefined : 'route'),
);
app.put('/upload/:owner', underQuota('size:assets:attachments:issues'), async (request, response) => {
  const path = join('/srv/attachments', request.params.owner, randomUUID());
  await mkdir(join(path, '..'), { recursive: true });
  await pipeline(request, createWriteStream(path));
  // softquota measures the place soon. Without this it does so at the next sweep.
  await quota.changed({ path }).catch(error => console.error(error.message));
  response.status(201).json({ path });
});
app.listen(process.env.PORT, '127.0.0.1');
