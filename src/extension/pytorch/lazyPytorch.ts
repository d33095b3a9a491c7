import type * as vscode from 'vscode';
import type { EngineName } from '../../protocol/runRecord.ts';
import type { CommandTable } from '../commandTable.ts';
import { type CommandId, commandIds } from '../ids.ts';
import { requireTrust } from '../launchSettings.ts';
import { Lazy } from '../lazy.ts';
import type { PytorchWorkbench } from './pytorchWorkbench.ts';

/** Loads what there is about the PyTorch engine when a run or a command needs it; not before. All of it waits for trust. */
export class LazyPytorch extends Lazy<PytorchWorkbench> {
	override get(): Promise<PytorchWorkbench> {
		requireTrust();
		return super.get();
	}

	/**
	 * What an engine's process gets so that it finds its Python. Where a run cannot do without and there is none, the person
	 * is asked what to do about it, without waiting for the answer.
	 * @param retry starts the run, once there is one
	 * @param from its recipe or folder; absent: neither is known
	 * @returns undefined: there is none
	 */
	async forRun(
		engine: EngineName,
		retry: () => unknown,
		from?: string,
	): Promise<Readonly<Record<string, string>> | undefined> {
		if (engine === 'embedded' || engine === 'foreign') return {};
		return (await this.get()).forRun(engine, retry, from);
	}

	/** Whether a recipe's run fits into memory, or is wanted all the same. */
	async mayStart(recipe: vscode.Uri, engine: EngineName): Promise<boolean> {
		return engine === 'embedded' || engine === 'foreign' || (await this.get()).memory.mayStart(recipe);
	}

	/** The same for what may serve a checkpoint of the PyTorch engine, and may not. */
	async ifThere(): Promise<Readonly<Record<string, string>>> {
		return (await this.get()).python.ifThere();
	}
}

/** *Set Up PyTorch Engine*, *Doctor* and what belongs to them. */
export function addPytorchCommands(table: CommandTable, pytorch: LazyPytorch): void {
	const add = (id: CommandId, run: (workbench: PytorchWorkbench, args: unknown[]) => unknown) =>
		table.add(id, async (...args: unknown[]) => run(await pytorch.get(), args));
	add(commandIds.setUpPytorch, ({ setUp }, [answers]) => setUp.run(answers));
	add(commandIds.choosePytorchPython, ({ chooser }) => chooser.run());
	add(commandIds.doctor, ({ doctor }, [options]) => doctor.run(options));
	add(commandIds.startRayCluster, ({ cluster }, [address]) => cluster.start(address));
	add(commandIds.stopRayCluster, ({ cluster }) => cluster.stop());
	add(commandIds.openSetupLog, ({ setUp }) => setUp.openLog());
	add(commandIds.removePytorch, ({ setUp }, [confirmed]) => setUp.remove(confirmed));
}
