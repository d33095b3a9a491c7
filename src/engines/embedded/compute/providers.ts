import type { DeviceName } from '../../../protocol/recipe.ts';
import type { ExecutionReport } from '../learner.ts';
import { cpuDialect, type Dialect, webgpuDialect } from '../onnx/dialect.ts';

export type ProviderName = ExecutionReport['provider'];

/** Names of the execution providers in the runtime. */
export const runtimeNames: Readonly<Record<ProviderName, string>> = {
	cpu: 'cpu',
	cuda: 'cuda',
	webgpu: 'webgpu',
	directml: 'dml',
	coreml: 'coreml',
};

/** The operators that programs for a provider may use. */
export const dialects: Readonly<Record<ProviderName, Dialect>> = {
	cpu: cpuDialect,
	cuda: cpuDialect,
	webgpu: webgpuDialect,
	directml: cpuDialect,
	coreml: cpuDialect,
};

/**
 * Candidates, best first, always ending with the CPU. For GPUs, `auto` tries those that the platform's package of the
 * runtime may include.
 */
export function providerCandidates(device: DeviceName, platform: string, arch: string): ProviderName[] {
	if (device === 'cpu') return ['cpu'];
	if (device !== 'auto') return [device, 'cpu'];
	if (platform === 'linux' && arch === 'x64') return ['cuda', 'webgpu', 'cpu'];
	if (platform === 'win32') return ['directml', 'webgpu', 'cpu'];
	if (platform === 'darwin') return ['webgpu', 'coreml', 'cpu'];
	return ['cpu'];
}
