import { unlessAborted } from '../../base/async.ts';
import { type IDisposable, toDisposable } from '../../base/disposable.ts';
import { ServedCheckpoint, torchPythonVariable } from '../../runs/servedCheckpoint.ts';
import type { PolicyContext } from '../openedPolicy.ts';

/** One user's lease on a served checkpoint. `dispose` releases it. */
export interface Lease extends IDisposable {
	readonly served: ServedCheckpoint;
}

interface Entry {
	readonly served: Promise<ServedCheckpoint>;
	readonly opening: AbortController;
	users: number;
	timer: NodeJS.Timeout | null;
}

/** Served checkpoints by folder. Concurrent searches share an engine. */
const entries = new Map<string, Entry>();

/**
 * Serves a checkpoint, or shares the engine that already serves it. Fails with the same errors as
 * `ServedCheckpoint.open`.
 */
export async function leaseCheckpoint(folder: string, context: PolicyContext): Promise<Lease> {
	const entry = entries.get(folder) ?? open(folder, context);
	entry.users++;
	if (entry.timer !== null) clearTimeout(entry.timer);
	entry.timer = null;
	const leave = toDisposable(() => {
		entry.users--;
		if (entry.users > 0) return;
		const idle = context.idleMs ?? 0;
		if (idle === 0) end(folder, entry);
		else entry.timer = setTimeout(() => end(folder, entry), idle).unref();
	});
	try {
		return { served: await unlessAborted(entry.served, context.signal), dispose: () => leave.dispose() };
	} catch (error) {
		leave.dispose();
		throw error;
	}
}

function open(folder: string, { engine, node, client, environment }: PolicyContext): Entry {
	const opening = new AbortController();
	const python = environment?.[torchPythonVariable];
	const served = ServedCheckpoint.open(folder, {
		engine,
		name: client,
		signal: opening.signal,
		...(node === undefined ? {} : { node }),
		...(python === undefined ? {} : { environment: { [torchPythonVariable]: python } }),
	});
	const entry: Entry = { served, opening, users: 0, timer: null };
	const forget = () => {
		if (entries.get(folder) === entry) entries.delete(folder);
	};
	// Do not reuse an engine that exited or failed to start.
	served.then((open) => open.client.onClosed(forget), forget);
	entries.set(folder, entry);
	return entry;
}

function end(folder: string, entry: Entry): void {
	if (entries.get(folder) === entry) entries.delete(folder);
	entry.opening.abort();
	entry.served.then(
		(open) => open.dispose(),
		() => undefined,
	);
}
