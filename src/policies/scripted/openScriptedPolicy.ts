import { basename, dirname } from 'node:path';
import { readSmallFile } from '../../files/safeFile.ts';
import type { OpenPolicy } from '../openedPolicy.ts';
import { parseScript } from './script.ts';
import { ScriptedPolicy } from './scriptedPolicy.ts';

/** Opens a script file; see `parseScript` for the format. Fails with `missing` or `invalid`. */
export async function openScriptedPolicy(path: string): Promise<OpenPolicy> {
	const name = basename(path);
	const text = await readSmallFile(dirname(path), name);
	return new ScriptedPolicy(parseScript(text, path), name.replace(/\.jsonl?$/, ''));
}
