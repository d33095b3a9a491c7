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

/** The Python that trains, as this window's settings have it. */
export class WindowTorchPython {
	readonly #needs: Needs;
	#said = false;

	constructor(needs: Needs) {
		this.#needs = needs;
	}

	/** Fails with `missing` when there is none. */
	find(): Promise<TorchPython> {
		const { selected } = this.#needs;
		return torchPython({ python: pytorchSettings.python(), folder: pytorchSettings.folder(), selected });
	}

	/** The variables of an engine's process; empty: there is no Python, and the engine says what it misses. */
	async ifThere(): Promise<Readonly<Record<string, string>>> {
		const found = await this.find().catch(() => null);
		return found === null ? {} : { [pythonVariable]: found.python };
	}

	/** The same; where there is none, offers to set one up or to choose one, and then to continue. @returns undefined: none */
	async orAsk(retry: () => unknown): Promise<Readonly<Record<string, string>> | undefined> {
		try {
			const { python, source } = await this.find();
			if (source === 'managed') void this.#sayWhatIsOutdated();
			return { [pythonVariable]: python };
		} catch (error) {
			const failure = Failure.from(error);
			if (failure.reason !== 'missing') throw failure;
			const { notices, setUp, chooser } = this.#needs;
			void notices.error(`${failure.message} The run needs one.`, [
				{ title: 'Set Up', run: async () => (await setUp.run()) !== undefined && retry() },
				{ title: 'Choose Interpreter', run: async () => (await chooser.run()) !== undefined && retry() },
			]);
			return undefined;
		}
	}

	/** Once in a window: an update of the extension has brought other versions. The run continues with those that are there. */
	async #sayWhatIsOutdated(): Promise<void> {
		if (this.#said) return;
		const state = await environmentState(ManagedFolder.at(pytorchSettings.folder())).catch(() => null);
		if (state?.kind !== 'ready' || state.outdated.length === 0) return;
		this.#said = true;
		const changes = state.outdated.slice(0, 3).join(', ');
		void this.#needs.notices.information(
			`The PyTorch environment is of version ${state.record.version}; since then: ${changes}.`,
			[{ title: 'Update', run: () => this.#needs.setUp.run() }],
		);
	}
}
