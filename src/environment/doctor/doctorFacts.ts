import type { Failure } from '../../base/failure.ts';
import type { EngineDevice } from '../../protocol/engineDevices.ts';
import type { CheckRow, CheckStatus, PythonProbe } from '../../protocol/torchEnvironment.ts';
import type { EnvironmentState } from '../environmentState.ts';
import type { MachineFacts } from '../machine/machineFacts.ts';
import type { TorchPython } from '../torchPython.ts';
import type { VersionRange } from './versionRange.ts';

/** Input for the *Doctor* rows. */
export interface DoctorFacts {
	readonly chosen: TorchPython | Failure;
	/** Where the user specified the Python interpreter, such as "--python". */
	readonly namedBy: string;
	/** null if no Python interpreter is selected. */
	readonly probe: PythonProbe | Failure | null;
	readonly state: EnvironmentState;
	readonly machine: MachineFacts;
	/** Node version of this process, such as `v24.1.0`. */
	readonly node: string;
	/** Folders that can grow large and their free disk space in bytes; null if unknown. */
	readonly disks: readonly { readonly what: string; readonly path: string; readonly free: number | null }[];
	/** The sandbox for model-written code, or why there is none. */
	readonly sandbox: { readonly description: string; readonly gaps: readonly string[] } | Failure;
	readonly ranges: readonly VersionRange[];
	/** GPU providers of the embedded engine; null if they were not checked. */
	readonly engineDevices: readonly EngineDevice[] | Failure | null;
}

export const setUp = 'Run Set Up PyTorch Engine (reasoning-lab setup-pytorch).';

export function row(id: string, check: string, status: CheckStatus, found: string, action?: string): CheckRow {
	return { id, check, status, found, action: action ?? null };
}
