import { dirname, join } from 'node:path';
import { readJson } from '../files/safeFile.ts';
import { checkpointFiles } from '../protocol/checkpointState.ts';
import type { Engine } from '../protocol/recipeKeys/recipeKey.ts';
import type { EngineName } from '../protocol/runRecord.ts';
import { readResolvedRecipe } from './runReader.ts';

/** Returns the engine name in a recipe or state. */
const engineOf = (value: unknown): unknown => (value as { readonly engine?: unknown } | null)?.engine;

/**
 * Returns the program for an engine. All programs are in the same location: dist/driver.js next to dist/engine.js, and
 * src/engines/driver/main.ts next to src/engines/embedded/main.ts.
 * @param embedded path of the embedded engine
 */
export function engineProgram(embedded: string, engine: EngineName): string {
	if (engine === 'embedded') return embedded;
	return embedded.endsWith('.ts')
		? join(dirname(dirname(embedded)), 'driver', 'main.ts')
		: join(dirname(embedded), 'driver.js');
}

/**
 * Returns the engine in a prepared run's recipe. Unreadable recipes are left to the embedded engine, which rejects
 * them.
 */
export async function engineOfRun(run: string): Promise<EngineName> {
	const engine = engineOf(await readResolvedRecipe(run).catch(() => null));
	return engine === 'pytorch' || engine === 'ray' ? engine : 'embedded';
}

/** Returns the engine that serves a checkpoint, which is the engine that wrote it. */
export async function engineOfCheckpoint(folder: string): Promise<Engine> {
	const engine = engineOf(await readJson(folder, checkpointFiles.state).catch(() => null));
	return engine === 'pytorch' ? 'pytorch' : 'embedded';
}
