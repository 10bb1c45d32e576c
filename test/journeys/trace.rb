# frozen_string_literal: true

# Preloaded into a swarm's processes (ruby -r). Records the calls of skep's methods in a file for
# each process: a line "seconds path method class" whenever another method than before is called.
module JourneyTrace
  FOLDER = ENV.fetch("SKEP_JOURNEY")
  LIB = %r{\A#{Regexp.escape(ENV.fetch("SKEP_JOURNEY_CHECKOUT"))}/skep[a-z-]*/lib/skep/}
  # The object may be of a class that defines its own `name` or `class`.
  MODULE_NAME = Module.instance_method(:name)
  CLASS = Kernel.instance_method(:class)
  private_constant :FOLDER, :LIB, :MODULE_NAME, :CLASS

  class << self
    def start
      @pid = nil
      TracePoint.new(:call) do |point|
        note(point.path, point.method_id, point.self) if point.path.match?(LIB)
      end.enable
    end

    private

    # Threads of a process share the file. A race between them may add a superfluous line.
    def note(path, method, object)
      return if method == @method && path.equal?(@path) && @pid == $$

      @path, @method = path, method
      now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      out.syswrite("#{now} #{path.sub(LIB, "")} #{method} #{name(object)}\n")
    end

    # Returns the name of the object's class, or its own if it is a class or a module.
    def name(object)
      owner = Module === object ? object : CLASS.bind_call(object)
      MODULE_NAME.bind_call(owner)
    end

    def out
      return @out if @pid == $$

      @pid = $$
      @out = File.open("#{FOLDER}/#{$$}", "a")
    end
  end
end

JourneyTrace.start
