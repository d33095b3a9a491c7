import { type ChildProcess, spawn } from 'node:child_process';
import { Disposable, toDisposable } from '../base/disposable.ts';
import { Failure } from '../base/failure.ts';
import type { ControlClient } from '../rpc/controlClient.ts';
import { engineOfCheckpoint, engineProgram } from './enginePrograms.ts';
import { engineEnvironment, lastWords } from './launchEngine.ts';
import { connectServed } from './runControl.ts';

export interface ServeOptions {
	/**
	 * Path of the embedded engine, dist/engine.js. The other engines are next to it; the one that wrote the checkpoint
	 * serves it.
	 */
	readonly engine: string;
	/** Node.js executable; default: the one running this process (Electron is switched to Node mode). */
	readonly node?: string;
	/** Name of this program in the engine's log. */
	readonly name: string;
	/** Variables added to this process's environment, such as the Python interpreter to use. */
	readonly environment?: Readonly<Record<string, string>>;
	/** Maximum time to wait for the engine to respond, in milliseconds; default 60000, or 600000 for PyTorch. */
	readonly waitMs?: number;
	readonly signal?: AbortSignal;
}

/** Environment variable for the pytorch engine's Python interpreter, used wherever the interpreter is looked up. */
export const torchPythonVariable = 'REASONING_LAB_TORCH_PYTHON';

/** Time allowed for an engine to exit before it is killed, in milliseconds. */
const graceMs = 3000;
const maxWords = 16 << 10;
/** Importing PyTorch and loading a large model take time. */
const waitMs = { embedded: 60_000, pytorch: 600_000 } as const;

/**
 * A checkpoint whose policy can be queried: served by a running engine or, if there is none, by one started here, which
 * exits when this object is disposed of or this process ends, however it ends.
 */
export class ServedCheckpoint extends Disposable {
	/** Checkpoint folder. */
	readonly checkpoint: string;
	readonly client: ControlClient;

	private constructor(checkpoint: string, client: ControlClient, child: ChildProcess | null) {
		super();
		this.checkpoint = checkpoint;
		this.client = client;
		if (child !== null) this.register(toDisposable(() => endChild(child)));
		this.register(client);
	}

	/** Fails with the engine's own message if the engine exits before responding, or with `timeout` or `cancelled`. */
	static async open(checkpoint: string, options: ServeOptions): Promise<ServedCheckpoint> {
		const other = await connectServed(checkpoint, options.name).catch(() => null);
		if (other !== null) return new ServedCheckpoint(checkpoint, other, null);
		const engine = await engineOfCheckpoint(checkpoint);
		const child = spawn(
			options.node ?? process.execPath,
			[engineProgram(options.engine, engine), '--serve', checkpoint, '--until-input-ends'],
			{
				stdio: ['pipe', 'pipe', 'pipe'],
				windowsHide: true,
				env: engineEnvironment({ ...process.env, ...options.environment }),
			},
		);
		try {
			await ready(child, checkpoint, { ...options, waitMs: options.waitMs ?? waitMs[engine] });
			return new ServedCheckpoint(checkpoint, await connectServed(checkpoint, options.name), child);
		} catch (error) {
			endChild(child);
			// Another program started an engine first.
			if (error instanceof Failure && error.reason === 'cancelled') throw error;
			const faster = await connectServed(checkpoint, options.name).catch(() => null);
			if (faster !== null) return new ServedCheckpoint(checkpoint, faster, null);
			throw error;
		}
	}
}

function ready(
	child: ChildProcess,
	checkpoint: string,
	{ waitMs, signal }: ServeOptions & { readonly waitMs: number },
): Promise<void> {
	return new Promise((resolve, reject) => {
		let words = '';
		let said = '';
		const settle = (error?: Failure) => {
			clearTimeout(timer);
			signal?.removeEventListener('abort', abort);
			if (error === undefined) resolve();
			else reject(error);
		};
		const abort = () => settle(new Failure('cancelled', 'Canceled.'));
		const timer = setTimeout(
			() => settle(new Failure('timeout', `The engine for ${checkpoint} did not respond in time.`)),
			waitMs,
		);
		if (signal?.aborted) abort();
		else signal?.addEventListener('abort', abort, { once: true });
		child.stdin?.on('error', () => undefined);
		child.stderr?.setEncoding('utf8').on('data', (text: string) => {
			words = (words + text).slice(-maxWords);
		});
		child.stdout?.setEncoding('utf8').on('data', (text: string) => {
			said = (said + text).slice(-maxWords);
			if (said.includes('\n')) settle();
		});
		child.once('error', (error) => settle(new Failure('unavailable', `Cannot start the engine: ${error.message}.`)));
		child.once('close', (code) =>
			settle(
				new Failure(
					code === 2 ? 'invalid' : 'internal',
					lastWords(words) || `The engine exited with status ${code} before responding.`,
				),
			),
		);
	});
}

function endChild(child: ChildProcess): void {
	if (child.exitCode !== null || child.signalCode !== null) return;
	child.stdin?.destroy();
	child.kill('SIGTERM');
	const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
	timer.unref();
	child.once('exit', () => clearTimeout(timer));
}
