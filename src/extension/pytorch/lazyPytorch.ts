import type * as vscode from 'vscode';
import type { EngineName } from '../../protocol/runRecord.ts';
import type { CommandTable } from '../commandTable.ts';
import { type CommandId, commandIds } from '../ids.ts';
import { requireTrust } from '../launchSettings.ts';
import { Lazy } from '../lazy.ts';
import type { PytorchWorkbench } from './pytorchWorkbench.ts';

/** Loads the PyTorch features only when a run or command needs them. All of them require workspace trust. */
export class LazyPytorch extends Lazy<PytorchWorkbench> {
	override get(): Promise<PytorchWorkbench> {
		requireTrust();
		return super.get();
	}

	/**
	 * Returns the environment variables that tell an engine process which Python interpreter to use. If a run requires
	 * Python and no interpreter is available, asks the user what to do, without waiting for the answer.
	 * @param retry starts the run once an interpreter is available
	 * @param from recipe or run folder; absent if unknown
	 * @returns undefined if no interpreter is available
	 */
	async forRun(
		engine: EngineName,
		retry: () => unknown,
		from?: string,
	): Promise<Readonly<Record<string, string>> | undefined> {
		if (engine === 'embedded' || engine === 'foreign') return {};
		return (await this.get()).forRun(engine, retry, from);
	}

	/** Returns true if a recipe may start because its run fits in memory or the user chooses to start it anyway. */
	async mayStart(recipe: vscode.Uri, engine: EngineName): Promise<boolean> {
		return engine === 'embedded' || engine === 'foreign' || (await this.get()).memory.mayStart(recipe);
	}

	/** Same as `forRun`, for processes that might serve a PyTorch checkpoint. */
	async ifThere(): Promise<Readonly<Record<string, string>>> {
		return (await this.get()).python.ifThere();
	}
}

/** Registers *Set Up PyTorch Engine*, *Doctor*, and related commands. */
export function addPytorchCommands(table: CommandTable, pytorch: LazyPytorch): void {
	const add = (id: CommandId, run: (workbench: PytorchWorkbench, args: unknown[]) => unknown) =>
		table.add(id, async (...args: unknown[]) => run(await pytorch.get(), args));
	add(commandIds.setUpPytorch, ({ setUp }, [answers]) => setUp.run(answers));
	add(commandIds.setUpGpu, ({ setUpGpu }) => setUpGpu.run());
	add(commandIds.choosePytorchPython, ({ chooser }) => chooser.run());
	add(commandIds.doctor, ({ doctor }, [options]) => doctor.run(options));
	add(commandIds.startRayCluster, ({ cluster }, [address]) => cluster.start(address));
	add(commandIds.stopRayCluster, ({ cluster }) => cluster.stop());
	add(commandIds.openSetupLog, ({ setUp }) => setUp.openLog());
	add(commandIds.removePytorch, ({ setUp }, [confirmed]) => setUp.remove(confirmed));
}
