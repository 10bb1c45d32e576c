# frozen_string_literal: true

require "json"
require "kafka/verdicts/connection_pool"

module Verdicts
  # The handler of the swarm: it needs a cache, a lock, threads, a pool of connections, descriptors
  # and a dependency, as an application does. The file "fault" says what goes wrong, and for whom.
  # Each message that is handled is a line of the file "done", "ID PID"; each try of a bad message a
  # line "bad ID".
  class Application
    NOBODY = 64_321 # the user of a node that can't create threads: root has no limit

    def initialize(directory:, ports:, threads:)
      @fault_file = File.join(directory, "fault")
      @done_file = File.join(directory, "done")
      @pool = ConnectionPool.new(ports, size: threads)
      @rates = { "EUR" => 2 }
      @lock = Mutex.new
      @fault_lock = Mutex.new
      @held = []
      @count = 0
    end

    def handle(message)
      id = Integer(message.payload)
      fault = current_fault
      go_wrong(fault["kind"], id) if fault["bad"]&.include?(id)
      @rates.fetch("EUR")
      @lock.synchronize { @count += 1 }
      host = fault["sharded"] ? id % 4 : rand(4)
      leak_threads if @leaking
      Thread.new { @pool.ask(host) }.tap { |one| one.report_on_exception = false }.value
      write("#{id} #{Process.pid}\n")
    end

    private

    def write(line) = File.open(@done_file, "a") { |file| file.write(line) }

    # Reads the file again once it was replaced. A node that is out of descriptors can't.
    def current_fault
      @fault_lock.synchronize do
        version = File.stat(@fault_file).ino
        unless version == @version
          @fault = JSON.parse(File.read(@fault_file))
          @version = version
          fall_ill(@fault["kind"]) if @fault["pid"] == Process.pid
        end
        @fault
      end
    rescue Errno::EMFILE
      @fault
    end

    def go_wrong(kind, id)
      write("bad #{id}\n")
      case kind
      when "raises" then raise "message #{id} is bad"
      when "overflows" then overflow(id)
      when "crashes" then Process.kill(:SEGV, Process.pid)
      end
      wait_forever
    end

    def overflow(number) = overflow(number + 1) + 1

    def wait_forever
      reader, writer = IO.pipe
      reader.read
      writer.close
    end

    def fall_ill(kind)
      case kind
      when "no_descriptors" then use_up_descriptors
      when "no_threads" then use_up_threads
      when "lost_lock" then lose_lock
      when "drained_pool" then @pool.drain
      when "poisoned_cache" then @rates = {}
      end
    end

    def use_up_descriptors
      Process.setrlimit(:NOFILE, 100 + Dir.children("/proc/self/fd").size)
      loop { @held << File.open(File::NULL) }
    rescue Errno::EMFILE # that is the fault
      @held.size
    end

    def use_up_threads
      Process::UID.change_privilege(NOBODY) if Process.uid.zero?
      Process.setrlimit(:NPROC, 1)
      @leaking = true
    end

    # Until none can be created. Without these, Ruby 3.1 and 3.2 would hardly fail: they keep the
    # native thread of a Thread that has ended for the next one.
    def leak_threads
      loop { @held << Thread.new { Thread.stop } }
    rescue ThreadError # that is the fault
      @held.size
    end

    def lose_lock
      locked = Thread::Queue.new
      @held << Thread.new do
        @lock.lock
        locked << true
        Thread.stop
      end
      locked.pop
    end
  end
end
