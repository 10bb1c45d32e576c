# frozen_string_literal: true

require "test_helper"
require "skep/web"

class SwarmRegistryTest < Skep::TestCase
  test "finds a swarm without a run directory by its abstract socket, named or not" do
    missing "Linux" unless File.exist?("/proc/net/unix")
    before = ENV.delete("SKEP_RUN_DIR")
    name = "abstract-#{Process.pid}"
    lock = Skep::Swarm::Supervisor::AbstractNameLock.new(name).take
    [[], [name]].each do |names|
      assert_equal lock.path, Skep::Web::SwarmRegistry.new(names, []).path(name)
    end
    assert_match(%r{/other\.sock\z}, Skep::Web::SwarmRegistry.new(%w[other], []).path("other"))
  ensure
    lock&.release
    ENV["SKEP_RUN_DIR"] = before
  end
end
