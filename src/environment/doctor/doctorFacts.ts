import type { Failure } from '../../base/failure.ts';
import type { CheckRow, CheckStatus, PythonProbe } from '../../protocol/torchEnvironment.ts';
import type { EnvironmentState } from '../environmentState.ts';
import type { MachineFacts } from '../machine/machineFacts.ts';
import type { TorchPython } from '../torchPython.ts';
import type { VersionRange } from './versionRange.ts';

/** All that the rows of *Doctor* are made of. */
export interface DoctorFacts {
	readonly chosen: TorchPython | Failure;
	/** Who has named it, where a person has: "--python". */
	readonly namedBy: string;
	/** null: nothing is chosen. */
	readonly probe: PythonProbe | Failure | null;
	readonly state: EnvironmentState;
	readonly machine: MachineFacts;
	/** Of this process, `v24.1.0`. */
	readonly node: string;
	/** Folders that grow, with the bytes that are free there; null: unknown. */
	readonly disks: readonly { readonly what: string; readonly path: string; readonly free: number | null }[];
	/** What isolates code of models, or why nothing does. */
	readonly sandbox: { readonly description: string; readonly gaps: readonly string[] } | Failure;
	readonly ranges: readonly VersionRange[];
}

export const setUp = 'Run Set Up PyTorch Engine (reasoning-lab setup-pytorch).';

export function row(id: string, check: string, status: CheckStatus, found: string, action?: string): CheckRow {
	return { id, check, status, found, action: action ?? null };
}
