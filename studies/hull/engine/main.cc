// The packet engine: reads a scenario, runs it on ns-3, writes the result. docs/hull.md describes both.
//
//     engine SCENARIO.json RESULT      progress ("progress SECONDS" lines) on standard error
//
// Exit status: 0 done; 2 a scenario that makes no sense, with one sentence on standard error; 1 otherwise.

#include "scenario.h"
#include "simulation.h"

#include <fstream>
#include <iostream>
#include <stdexcept>
#include <unistd.h>

int
main(int argc, char* argv[])
{
    if (argc != 3)
    {
        std::cerr << "usage: engine SCENARIO.json RESULT\n";
        return 2;
    }
    try
    {
        std::ifstream in(argv[1]);
        if (!in)
        {
            throw std::invalid_argument(std::string("there is no scenario file ") + argv[1]);
        }
        packets::Simulation simulation(packets::ReadScenario(in));
        const pid_t parent = getppid();
        simulation.Run([parent](double seconds) {
            std::cerr << "progress " << seconds << std::endl;
            if (getppid() != parent)
            {
                throw std::runtime_error("nobody waits for the result any more");
            }
        });
        std::ofstream out(argv[2], std::ios::binary);
        simulation.Write(out);
        out.close();
        if (!out)
        {
            throw std::runtime_error(std::string("cannot write ") + argv[2]);
        }
    }
    catch (const std::invalid_argument& error)
    {
        std::cerr << error.what() << '\n';
        return 2;
    }
    catch (const std::exception& error)
    {
        std::cerr << error.what() << '\n';
        return 1;
    }
    return 0;
}
