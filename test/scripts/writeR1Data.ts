/** Writes the data of the template `r1`; a unit test fails while they are not current. */
import { writeFileSync } from 'node:fs';
import { r1DataText } from './r1Data.ts';

writeFileSync(new URL('../../media/templates/r1/data/general.jsonl', import.meta.url), r1DataText());
