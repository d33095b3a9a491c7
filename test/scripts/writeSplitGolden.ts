/** Writes what the trainer's tests hold its splits against. */
import { writeFileSync } from 'node:fs';
import { splitGolden, splitGoldenFile } from '../support/splitGolden.ts';

writeFileSync(splitGoldenFile, splitGolden());
