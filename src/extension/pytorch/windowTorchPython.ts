import { Failure } from '../../base/failure.ts';
import { environmentState } from '../../environment/environmentState.ts';
import { ManagedFolder } from '../../environment/managedFolder.ts';
import { pythonVariable, type TorchPython, torchPython } from '../../environment/torchPython.ts';
import type { Notices } from '../notices.ts';
import type { InterpreterChooser } from './interpreterChooser.ts';
import { pytorchSettings } from './pytorchSettings.ts';
import type { SetUpCommand } from './setUpCommand.ts';

interface Needs {
	readonly notices: Notices;
	readonly selected: () => Promise<string | null>;
	readonly setUp: SetUpCommand;
	readonly chooser: InterpreterChooser;
}

/** The Python interpreter for training, as configured in this window. */
export class WindowTorchPython {
	readonly #needs: Needs;
	#said = false;

	constructor(needs: Needs) {
		this.#needs = needs;
	}

	/** Returns the Python interpreter for training. Fails with `missing` if there is none. */
	find(): Promise<TorchPython> {
		const { selected } = this.#needs;
		return torchPython({ python: pytorchSettings.python(), folder: pytorchSettings.folder(), selected });
	}

	/**
	 * Returns the environment variables for an engine process; empty if there is no Python interpreter, in which case the
	 * engine reports the problem.
	 */
	async ifThere(): Promise<Readonly<Record<string, string>>> {
		const found = await this.find().catch(() => null);
		return found === null ? {} : { [pythonVariable]: found.python };
	}

	/**
	 * Same as `ifThere`, but if there is no Python interpreter, offers to set one up or choose one and then continue.
	 * @returns undefined if there is no Python interpreter
	 */
	async orAsk(retry: () => unknown): Promise<Readonly<Record<string, string>> | undefined> {
		try {
			const { python, source } = await this.find();
			if (source === 'managed') void this.#sayWhatIsOutdated();
			return { [pythonVariable]: python };
		} catch (error) {
			const failure = Failure.from(error);
			if (failure.reason !== 'missing') throw failure;
			const { notices, setUp, chooser } = this.#needs;
			void notices.error(`${failure.message} This run requires one.`, [
				{ title: 'Set Up', run: async () => (await setUp.run()) !== undefined && retry() },
				{ title: 'Choose Interpreter', run: async () => (await chooser.run()) !== undefined && retry() },
			]);
			return undefined;
		}
	}

	/**
	 * Reports once per window that an extension update requires different package versions. The run continues with the
	 * installed ones.
	 */
	async #sayWhatIsOutdated(): Promise<void> {
		if (this.#said) return;
		const state = await environmentState(ManagedFolder.at(pytorchSettings.folder())).catch(() => null);
		if (state?.kind !== 'ready' || state.outdated.length === 0) return;
		this.#said = true;
		const changes = state.outdated.slice(0, 3).join(', ');
		void this.#needs.notices.information(
			`The PyTorch environment was created by version ${state.record.version}. Changed since then: ${changes}.`,
			[{ title: 'Update', run: () => this.#needs.setUp.run() }],
		);
	}
}
