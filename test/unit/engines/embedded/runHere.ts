import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../../../scripts/paths.ts';
import type { EngineExit, Workplace } from './engineProcess.ts';

/** The part of src/engines/embedded/run/runEngine.ts used by this file. */
interface EngineModule {
	runEngine(args: {
		readonly kind: 'run';
		readonly run: string;
		readonly resume: boolean;
		readonly parentCheckpoint: string | null;
	}): { readonly exit: Promise<number> };
}

/**
 * Runs the embedded engine in this process until it ends, for tests that do not depend on its process. A short run then
 * takes about half as much CPU time. Only one can run at a time.
 *
 * The engine is imported by a computed name, so that `npm test -- --changed` treats these files like all other tests
 * that start the engine, not as importers of every engine file.
 */
export async function runHere(
	place: Pick<Workplace, 'folder' | 'environment'>,
	run: string,
	{
		resume = false,
		parentCheckpoint = null,
	}: { readonly resume?: boolean; readonly parentCheckpoint?: string | null } = {},
): Promise<EngineExit> {
	const sources = pathToFileURL(join(root, 'src')).href;
	const { runEngine } = (await import(`${sources}/engines/embedded/run/runEngine.ts`)) as EngineModule;
	const environment = { ...process.env };
	const { write } = process.stderr;
	let stderr = '';
	Object.assign(process.env, { REASONING_LAB_HOME: join(place.folder, 'home') }, place.environment);
	process.stderr.write = ((text: string | Uint8Array) => {
		stderr += text;
		return true;
	}) as typeof write;
	try {
		return { code: await runEngine({ kind: 'run', run, resume, parentCheckpoint }).exit, signal: null, stderr };
	} finally {
		process.stderr.write = write;
		for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
		Object.assign(process.env, environment);
	}
}
