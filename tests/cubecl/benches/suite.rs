gpubench::main!(hidden_cubecl);
