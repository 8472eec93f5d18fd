/** Refusals because a disk has too little left, whatever the limits of the owner are. */

/** A file system with less left than has to stay free. */
export interface FullDisk {
  /** A file system has room for so many bytes, and for so many files. */
  readonly of: 'bytes' | 'files';
  readonly free: number;
  readonly size: number;
  /** Bytes that have to stay free. */
  readonly least: number;
}

/** A decision by the disk. */
export interface DiskFull {
  readonly by: 'disk';
  readonly allowed: false;
  readonly disk: FullDisk;
  readonly used: null;
  readonly limit: null;
  readonly allowance?: never;
  readonly garbage?: never;
  readonly group: null;
  readonly rule: null;
  readonly subjects: readonly [];
  readonly grace?: never;
  readonly reported?: never;
}

export function refusedByDisk(disk: FullDisk): DiskFull {
  return {
    by: 'disk',
    allowed: false,
    disk,
    used: null,
    limit: null,
    group: null,
    rule: null,
    subjects: [],
  };
}
