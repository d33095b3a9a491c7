import type { MachineFacts } from '../../../src/environment/machine/machineFacts.ts';
import type { PythonProbe, TorchFacts } from '../../../src/protocol/torchEnvironment.ts';

/** Bare Linux machine, with optional changes. */
export function machine(changes: Partial<MachineFacts> = {}): MachineFacts {
	return {
		...{ platform: 'linux', arch: 'x64', nvidia: null, rocm: null, uv: null },
		...{ pipConfigured: false, uvConfigured: false },
		...changes,
	};
}

/** Machine with NVIDIA GPUs of the given compute capabilities. */
export function withNvidia(driver: string, ...capabilities: string[]): MachineFacts {
	const gpus = capabilities.map((capability) => ({ name: 'GPU', total: 24e9, free: 23e9, capability }));
	return machine({ nvidia: { driver, gpus, error: null } });
}

export const uv = { path: '/bin/uv', version: '0.13.9' } as const;

export function probe(changes: Partial<PythonProbe> = {}): PythonProbe {
	return {
		...{ format: 1, python: '3.12.1', executable: '/bin/python', machine: 'x86_64', platform: 'linux' },
		...{ libc: 'glibc 2.36', bits: 64, freeThreaded: false, virtual: true, prefix: '/env' },
		...{ venv: true, ensurepip: '24.2', packages: {}, broken: {}, imports: {}, torch: null },
		...changes,
	};
}

export function torch(changes: Partial<TorchFacts> = {}): TorchFacts {
	return {
		...{ version: '2.13.0', cuda: null, rocm: null, cudaAvailable: false, cudaError: null, mpsAvailable: false },
		...{ bf16: true, gpus: [], architectures: [], threads: 8 },
		...changes,
	};
}
