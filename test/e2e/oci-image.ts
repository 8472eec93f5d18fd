/** A container image in a directory, of one layer. */

import { createHash, randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const media = 'application/vnd.oci.image';

/** Writes it as an OCI layout with the tag `1`; the layer has so many random bytes, and no meaning. */
export async function writeImage(folder: string, layerBytes: number): Promise<void> {
  const blobs = join(folder, 'blobs/sha256');
  await mkdir(blobs, { recursive: true });
  const blob = async (mediaType: string, content: Buffer) => {
    const digest = createHash('sha256').update(content).digest('hex');
    await writeFile(join(blobs, digest), content);
    return { mediaType, digest: `sha256:${digest}`, size: content.length };
  };
  const json = (mediaType: string, value: object) => blob(mediaType, Buffer.from(JSON.stringify(value)));
  const layer = await blob(`${media}.layer.v1.tar`, randomBytes(layerBytes));
  const config = await json(`${media}.config.v1+json`, {
    architecture: 'amd64',
    os: 'linux',
    rootfs: { type: 'layers', diff_ids: [layer.digest] },
  });
  const mediaType = `${media}.manifest.v1+json`;
  const manifest = await json(mediaType, { schemaVersion: 2, mediaType, config, layers: [layer] });
  const manifests = [{ ...manifest, annotations: { 'org.opencontainers.image.ref.name': '1' } }];
  await writeFile(join(folder, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests }));
  await writeFile(join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
}
