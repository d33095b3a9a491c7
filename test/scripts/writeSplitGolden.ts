/** Writes the expected splits for the trainer's tests. */
import { writeFileSync } from 'node:fs';
import { splitGolden, splitGoldenFile } from '../support/splitGolden.ts';

writeFileSync(splitGoldenFile, splitGolden());
