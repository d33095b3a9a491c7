import { addPytorchCommands, LazyPytorch } from '../pytorch/lazyPytorch.ts';
import { PythonInterpreter } from '../rewards/pythonInterpreter.ts';
import type { WindowServices } from './registerWindow.ts';

/** Python in this window: the interpreter for rewards, and the PyTorch engine. */
export interface PytorchServices {
	readonly python: PythonInterpreter;
	readonly pytorch: LazyPytorch;
}

export function registerPytorch(services: WindowServices): PytorchServices {
	const { keep, table, extension, version, notices, documents } = services;
	const python = keep(new PythonInterpreter());
	const pytorch = keep(
		new LazyPytorch(async () => {
			const { PytorchWorkbench } = await import('../pytorch/pytorchWorkbench.ts');
			return new PytorchWorkbench({ extension, version, notices, documents, interpreter: python });
		}),
	);
	addPytorchCommands(table, pytorch);
	return { python, pytorch };
}
