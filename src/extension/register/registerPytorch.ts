import { commandIds } from '../ids.ts';
import { addPytorchCommands, LazyPytorch } from '../pytorch/lazyPytorch.ts';
import { PythonInterpreter } from '../rewards/pythonInterpreter.ts';
import type { RunServices } from './registerRuns.ts';
import type { WindowServices } from './registerWindow.ts';

/** Python in this window: the interpreter for rewards, and the PyTorch engine. */
export interface PytorchServices {
	readonly python: PythonInterpreter;
	readonly pytorch: LazyPytorch;
}

export function registerPytorch(services: WindowServices & RunServices): PytorchServices {
	const { keep, table, extension, version, notices, documents, picker, pipelines, evaluations } = services;
	const python = keep(new PythonInterpreter());
	const pytorch = keep(
		new LazyPytorch(async () => {
			const { PytorchWorkbench } = await import('../pytorch/pytorchWorkbench.ts');
			return new PytorchWorkbench({ extension, version, notices, documents, interpreter: python });
		}),
	);
	addPytorchCommands(table, pytorch);
	table.addLater([commandIds.exportReport, commandIds.evaluateCheckpoint, commandIds.showEvaluations], async () => {
		const { reportCommands } = await import('../evaluation/reportCommands.ts');
		return reportCommands({
			...{ picker, pipelines, extension, notices, documents },
			environment: () => pytorch.ifThere(),
			evaluated: () => evaluations.refresh(),
		});
	});
	return { python, pytorch };
}
