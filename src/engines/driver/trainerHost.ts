import { Failure } from '../../base/failure.ts';
import type { ResolvedRecipe } from '../../core/recipe/resolvedRecipe.ts';
import { torchPython } from '../../environment/torchPython.ts';
import { trainerFolder } from '../../environment/trainerFolder.ts';
import { type EndContext, explainEnd } from './trainerEnd.ts';
import { trainerEnvironment } from './trainerEnvironment.ts';
import { memoryKills, TrainerProcess } from './trainerProcess.ts';
import { type TrainerHandlers, type TrainerListeners, TrainerServer } from './trainerServer.ts';

export interface TrainerHostOptions {
	/** Run folder. Together with the run ID, it determines the socket name. */
	readonly folder: string;
	readonly id: string;
	readonly recipe: ResolvedRecipe | null;
	readonly handlers: TrainerHandlers;
	readonly listeners?: TrainerListeners;
	/** Folder whose engine.log receives the trainer output, or null for standard error. */
	readonly log: string | null;
	/** Whether the trainer is started externally and connects to the socket. */
	readonly joined: boolean;
	/**
	 * Connection timeout in milliseconds. Default: 900000, because PyTorch can take a long time to load from a slow disk.
	 */
	readonly beginMs?: number;
}

/** How long a trainer has to exit after losing its connection, in milliseconds. */
const lastMs = 10_000;

/** The driver's trainer: the link to it and, unless it was started externally, its process. */
export class TrainerHost {
	readonly #server: TrainerServer;
	readonly #process: TrainerProcess | null;
	readonly #killsBefore: number | null;
	readonly #beginMs: number;
	/** Whether the trainer has announced its exit or was asked to exit. */
	#over = false;

	private constructor(
		server: TrainerServer,
		process: TrainerProcess | null,
		facts: { readonly killsBefore: number | null; readonly beginMs: number },
	) {
		this.#server = server;
		this.#process = process;
		this.#killsBefore = facts.killsBefore;
		this.#beginMs = facts.beginMs;
	}

	/**
	 * Throws `missing` if there is no suitable Python interpreter, or `unavailable` if the interpreter does not start.
	 */
	static async start(options: TrainerHostOptions): Promise<TrainerHost> {
		const { folder, id, recipe, handlers, listeners, log, joined, beginMs = 900_000 } = options;
		const found = joined ? null : { python: (await torchPython()).python, folder: await trainerFolder() };
		const server = await TrainerServer.listen({ folder, id, handlers, ...(listeners ? { listeners } : {}) });
		if (found === null) return new TrainerHost(server, null, { killsBefore: null, beginMs });
		try {
			const { socket, token } = server;
			const killsBefore = await memoryKills();
			const process = await TrainerProcess.start({
				...found,
				processes: recipe?.pytorch?.processes ?? 1,
				environment: trainerEnvironment({ recipe, folder: found.folder, socket, token }),
				run: log,
			});
			return new TrainerHost(server, process, { killsBefore, beginMs });
		} catch (error) {
			server.dispose();
			throw error;
		}
	}

	get address(): { readonly socket: string; readonly token: string } {
		return { socket: this.#server.socket, token: this.#server.token };
	}

	/** Resolves with the reason when the trainer exits or violates the protocol. */
	async lost(context: () => Promise<Omit<EndContext, 'outOfMemory'>>): Promise<Failure> {
		const exited = this.#process?.exit.then(() => null) ?? new Promise<null>(() => undefined);
		const first = await Promise.race([this.#server.gone, this.#late(), exited]);
		if (first !== null && first.reason !== 'unavailable') return first;
		if (this.#process === null) {
			const { step, checkpoint } = await context();
			return new Failure(
				'unavailable',
				`Lost the connection to the trainer ${step === null ? 'before training started' : `after step ${step}`}.`,
				checkpoint === null ? 'Start the run again.' : `Resuming continues from the checkpoint at step ${checkpoint}.`,
			);
		}
		const late = new Promise<null>((resolve) => {
			setTimeout(() => resolve(null), lastMs).unref();
		});
		if ((await Promise.race([this.#process.exit, late])) === null) this.#process.kill();
		const exit = await this.#process.exit;
		const kills = await memoryKills();
		const outOfMemory = kills === null || this.#killsBefore === null ? null : kills > this.#killsBefore;
		return explainEnd(exit, { ...(await context()), outOfMemory });
	}

	/** Resolves if the trainer does not connect in time. */
	async #late(): Promise<Failure> {
		const started = this.#server.started.then(() => true);
		const late = new Promise<false>((resolve) => {
			setTimeout(() => resolve(false), this.#beginMs).unref();
		});
		if (await Promise.race([started, late])) return new Promise(() => undefined);
		return new Failure(
			'timeout',
			`The trainer did not connect within ${Math.round(this.#beginMs / 1000)} seconds.`,
			'Check engine.log in the run folder, and run Doctor.',
		);
	}

	/**
	 * Stops the trainer.
	 * @param graceMs how long the trainer has to exit on its own
	 */
	async end(graceMs: number): Promise<void> {
		if (this.#over) return;
		this.#over = true;
		if (this.#process !== null) await this.#process.end(graceMs);
		else if (graceMs > 0) {
			await Promise.race([this.#server.gone, new Promise((resolve) => setTimeout(resolve, graceMs).unref())]);
		}
		this.#server.dispose();
	}

	/** Kills the trainer immediately. */
	kill(): void {
		this.#process?.kill();
	}
}
