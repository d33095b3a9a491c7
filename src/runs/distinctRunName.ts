import { basename } from 'node:path';
import { sha256 } from '../files/sha256.ts';

/**
 * Returns the name used in addresses for a run whose folder name is not unique: the folder name and a hash of its path.
 */
export const distinctRunName = (folder: string): string => `${basename(folder)}~${sha256(folder).slice(0, 6)}`;
