import { basename } from 'node:path';
import { sha256 } from '../files/sha256.ts';

/** Returns the name in addresses of a run whose folder shares its name with others: the name, and a hash of its path. */
export const distinctRunName = (folder: string): string => `${basename(folder)}~${sha256(folder).slice(0, 6)}`;
