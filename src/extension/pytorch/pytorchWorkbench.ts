import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import type { EngineName } from '../../protocol/runRecord.ts';
import { SetUpGpuCommand } from '../gpu/setUpGpuCommand.ts';
import type { Notices } from '../notices.ts';
import type { ReadOnlyDocuments } from '../readOnlyDocuments.ts';
import type { PythonInterpreter } from '../rewards/pythonInterpreter.ts';
import { DoctorCommand } from './doctorCommand.ts';
import { InterpreterChooser } from './interpreterChooser.ts';
import { LocalRayCluster } from './localRayCluster.ts';
import { MemoryCommand } from './memoryCommand.ts';
import { SetUpCommand } from './setUpCommand.ts';
import { WindowTorchPython } from './windowTorchPython.ts';

interface Needs {
	readonly extension: vscode.Uri;
	/** Version of Reasoning Lab. */
	readonly version: string;
	readonly notices: Notices;
	readonly documents: ReadOnlyDocuments;
	/** The interpreter selected in the Python extension. */
	readonly interpreter: PythonInterpreter;
}

/** All PyTorch environment features for a window. */
export class PytorchWorkbench extends Disposable {
	readonly python: WindowTorchPython;
	readonly setUp: SetUpCommand;
	readonly setUpGpu: SetUpGpuCommand;
	readonly chooser: InterpreterChooser;
	readonly doctor: DoctorCommand;
	readonly memory: MemoryCommand;
	readonly cluster: LocalRayCluster;

	constructor({ extension, version, notices, documents, interpreter }: Needs) {
		super();
		const selected = () => interpreter.path(vscode.workspace.workspaceFolders?.[0]?.uri);
		this.setUp = this.register(
			new SetUpCommand({ version, notices, doctor: () => this.doctor.run(), choose: () => this.chooser.run() }),
		);
		this.setUpGpu = this.register(new SetUpGpuCommand({ extension, notices, doctor: () => this.doctor.run() }));
		this.chooser = new InterpreterChooser({ notices, selected });
		this.python = new WindowTorchPython({ notices, selected, setUp: this.setUp, chooser: this.chooser });
		this.memory = new MemoryCommand(documents);
		this.cluster = new LocalRayCluster({
			notices,
			python: () => this.python.find(),
			openLog: (path) => vscode.window.showTextDocument(vscode.Uri.file(path)),
		});
		this.doctor = new DoctorCommand({
			extension,
			notices,
			documents,
			selected,
			setUp: this.setUp,
			chooser: this.chooser,
		});
	}

	/** Same as `LazyPytorch.forRun`, for engines that train in Python. */
	async forRun(
		engine: EngineName,
		retry: () => unknown,
		from: string | undefined,
	): Promise<Readonly<Record<string, string>> | undefined> {
		if (engine !== 'ray') return this.python.orAsk(retry);
		// Workers in a cluster use their own Python.
		return (await this.cluster.isThere(from, retry)) ? this.python.ifThere() : undefined;
	}
}
