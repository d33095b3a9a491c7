/** Writes the data for the `r1` template. A unit test fails if it is out of date. */
import { writeFileSync } from 'node:fs';
import { r1DataText } from './r1Data.ts';

writeFileSync(new URL('../../media/templates/r1/data/general.jsonl', import.meta.url), r1DataText());
