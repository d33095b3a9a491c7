import { dirname, join } from 'node:path';
import { readJson } from '../files/safeFile.ts';
import { checkpointFiles } from '../protocol/checkpointState.ts';
import type { Engine } from '../protocol/recipeKey.ts';
import type { EngineName } from '../protocol/runRecord.ts';
import { readResolvedRecipe } from './runReader.ts';

/** Of recipe or state, what names an engine. */
const engineOf = (value: unknown): unknown => (value as { readonly engine?: unknown } | null)?.engine;

/**
 * The program for an engine. All lie together: dist/driver.js beside dist/engine.js, src/engines/driver/main.ts beside
 * src/engines/embedded/main.ts.
 * @param embedded the embedded engine's program
 */
export function engineProgram(embedded: string, engine: EngineName): string {
	if (engine === 'embedded') return embedded;
	return embedded.endsWith('.ts')
		? join(dirname(dirname(embedded)), 'driver', 'main.ts')
		: join(dirname(embedded), 'driver.js');
}

/** The engine that a prepared run's recipe asks for. A recipe that cannot be read is for the embedded engine to refuse. */
export async function engineOfRun(run: string): Promise<EngineName> {
	const engine = engineOf(await readResolvedRecipe(run).catch(() => null));
	return engine === 'pytorch' || engine === 'ray' ? engine : 'embedded';
}

/** The engine that serves a checkpoint: the one that wrote it. */
export async function engineOfCheckpoint(folder: string): Promise<Engine> {
	const engine = engineOf(await readJson(folder, checkpointFiles.state).catch(() => null));
	return engine === 'pytorch' ? 'pytorch' : 'embedded';
}
