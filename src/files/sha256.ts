import { createHash } from 'node:crypto';

/** Returns the SHA-256 hash in hexadecimal. */
export const sha256 = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex');
